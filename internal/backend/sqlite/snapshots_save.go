package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/refresh"
)

// snapshotState is what is stored of an entity, or is about to be.
type snapshotState struct {
	refresh.Known
	// replaced is the value that was there before, if another takes its place.
	replaced refresh.ValueID
	// touched is whether the row has to be written, stored whether with a new
	// value.
	touched, stored bool
}

// Save implements refresh.Snapshots. An entity counts as refreshed by a version
// also if that found nothing new: what an earlier one brings is obsolete.
func (s *Snapshots) Save(ctx context.Context, refreshed []refresh.Refreshed) ([]refresh.Saved, error) {
	return refresh.SaveBy(refreshed, func(everything bool) (*refresh.SaveCall, error) {
		item, err := s.pack(ctx, refreshed, everything)
		if err == nil {
			err = s.saves.Do(ctx, item)
		}
		return item, err
	})
}

// pack compresses the bodies that are not stored as they are, or all of them,
// before it is the writer's turn.
func (s *Snapshots) pack(ctx context.Context, refreshed []refresh.Refreshed, everything bool) (*refresh.SaveCall, error) {
	item := &refresh.SaveCall{Results: make([]refresh.Result, len(refreshed))}
	same := make([]bool, len(refreshed))
	if !everything {
		err := s.db.Read(ctx, func(c *driver.Conn) error {
			for i := range refreshed {
				err := Exec(c, "SELECT hash FROM snapshot WHERE source = ? AND key = ?", func(r *driver.Stmt) {
					var hash refresh.Hash
					r.ColumnBytes(0, hash[:])
					same[i] = hash == refreshed[i].Hash
				}, refreshed[i].Source, refreshed[i].Key)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for i := range refreshed {
		r := &refreshed[i]
		item.Results[i] = r.Result()
		if !same[i] {
			item.Results[i].Packed = s.packer.Pack(r.Body)
		}
	}
	return item, nil
}

// applySaves does the work of all items, in their order.
func (s *Snapshots) applySaves(c *driver.Conn, items []*refresh.SaveCall) error {
	states, err := readStates(c, items)
	if err != nil {
		return err
	}
	var values []*refresh.Result
	for _, item := range items {
		if !item.Judge(func(i int) *refresh.Known { return &states[item.Results[i].Entity].Known }) {
			continue
		}
		for i := range item.Results {
			states[item.Results[i].Entity].save(&item.Results[i], item.Answers[i], s.tiers)
			if item.Answers[i] == refresh.Stored {
				values = append(values, &item.Results[i])
			}
		}
	}
	return writeStates(c, states, values)
}

// readStates returns what is stored of the entities of all items.
func readStates(c *driver.Conn, items []*refresh.SaveCall) (map[refresh.Entity]*snapshotState, error) {
	states := make(map[refresh.Entity]*snapshotState, len(items)*len(items[0].Results))
	for _, item := range items {
		for i := range item.Results {
			e := item.Results[i].Entity
			if states[e] != nil {
				continue
			}
			st := &snapshotState{}
			states[e] = st
			err := Exec(c, "SELECT seen_version, version, hash, updated_at, tier, bytes, checked_at FROM snapshot WHERE source = ? AND key = ?", func(r *driver.Stmt) {
				st.Known = refresh.Known{
					Seen: r.ColumnInt64(0), ValueID: refresh.ValueID{Version: r.ColumnInt64(1)}, Updated: r.ColumnInt64(3),
					Tier: refresh.Tier(r.ColumnInt64(4)), Bytes: r.ColumnInt64(5), Checked: r.ColumnInt64(6),
				}
				r.ColumnBytes(2, st.Hash[:])
			}, e.Source, e.Key)
			if err != nil {
				return nil, err
			}
		}
	}
	return states, nil
}

// save changes the state of an entity as was judged.
func (st *snapshotState) save(r *refresh.Result, as refresh.Saved, tiers refresh.Tiers) {
	was := st.ValueID
	st.Save(r, as, tiers)
	st.touched = st.touched || as != refresh.Obsolete
	if as == refresh.Stored && !st.stored {
		st.replaced, st.stored = was, true
	}
}
