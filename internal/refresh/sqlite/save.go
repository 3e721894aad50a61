package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/sqlitedb"
)

// saveItem is one Save on its way through the writer.
type saveItem struct {
	results []result
	answers []refresh.Saved
	// again is set if a body turned out to be needed that was not compressed:
	// nothing was done then.
	again bool
}

// result is what one refresh brought, without its body.
type result struct {
	refresh.Entity
	version, at int64
	hash        refresh.Hash
	// packed is the compressed body; nil if it seems to be stored already.
	packed []byte
}

// state is what is stored of an entity, or is about to be.
type state struct {
	seen, version, updated, due, bytes int64
	checked                            int64
	hash                               refresh.Hash
	tier                               refresh.Tier
	// replaced is the value that was there before, if another takes its place.
	replaced *value
	// touched is whether the row has to be written, stored whether with a new
	// value.
	touched, stored bool
}

// value names a stored value of an entity.
type value struct {
	version int64
	hash    refresh.Hash
}

// Save implements refresh.Snapshots. An entity counts as refreshed by a version
// also if that found nothing new: what an earlier one brings is obsolete.
func (s *Store) Save(ctx context.Context, refreshed []refresh.Refreshed) ([]refresh.Saved, error) {
	if err := checkRefreshed(refreshed); err != nil || len(refreshed) == 0 {
		return nil, err
	}
	for everything := false; ; everything = true {
		item, err := s.pack(ctx, refreshed, everything)
		if err == nil {
			err = s.saves.Do(ctx, item)
		}
		if err != nil {
			return nil, err
		}
		if !item.again {
			return item.answers, nil
		}
	}
}

func checkRefreshed(refreshed []refresh.Refreshed) error {
	met := make(map[refresh.Entity]bool, len(refreshed))
	for i := range refreshed {
		r := &refreshed[i]
		if err := checkEntity(r.Entity); err != nil {
			return err
		}
		if r.Version <= 0 || met[r.Entity] {
			return domain.Errorf(domain.CodeInvalid, "what is saved of %s needs a version and comes once", r.Entity)
		}
		met[r.Entity] = true
	}
	return nil
}

// pack compresses the bodies that are not stored as they are, or all of them,
// before it is the writer's turn.
func (s *Store) pack(ctx context.Context, refreshed []refresh.Refreshed, everything bool) (*saveItem, error) {
	item := &saveItem{results: make([]result, len(refreshed))}
	same := make([]bool, len(refreshed))
	if !everything {
		err := s.db.Read(ctx, func(c *sqlite.Conn) error {
			for i := range refreshed {
				err := sqlitedb.Exec(c, "SELECT hash FROM snapshot WHERE source = ? AND key = ?", func(r *sqlite.Stmt) {
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
		item.results[i] = result{Entity: r.Entity, version: r.Version, at: sqlitedb.Micros(r.At), hash: r.Hash}
		if !same[i] {
			item.results[i].packed = s.packer.Pack(r.Body)
		}
	}
	return item, nil
}

// judge says what is to be done with a result; st is nil if nothing is stored.
// Of two results of one version the later look counts, whichever comes last.
func judge(st *state, r *result) refresh.Saved {
	switch {
	case st == nil:
		return refresh.Stored
	case r.version < st.seen, r.version == st.seen && r.at < st.checked:
		return refresh.Obsolete
	case r.hash == st.hash:
		return refresh.Touched
	}
	return refresh.Stored
}

// applySaves does the work of all items, in their order.
func (s *Store) applySaves(c *sqlite.Conn, items []*saveItem) error {
	states, err := readStates(c, items)
	if err != nil {
		return err
	}
	var values []*result
	for _, item := range items {
		item.answers, item.again = make([]refresh.Saved, len(item.results)), false
		for i := range item.results {
			r := &item.results[i]
			item.answers[i] = judge(states[r.Entity], r)
			item.again = item.again || item.answers[i] == refresh.Stored && r.packed == nil
		}
		if item.again {
			continue
		}
		for i := range item.results {
			s.carryOut(states, &item.results[i], item.answers[i])
			if item.answers[i] == refresh.Stored {
				values = append(values, &item.results[i])
			}
		}
	}
	return writeStates(c, states, values)
}

func readStates(c *sqlite.Conn, items []*saveItem) (map[refresh.Entity]*state, error) {
	states := make(map[refresh.Entity]*state, len(items)*len(items[0].results))
	for _, item := range items {
		for i := range item.results {
			e := item.results[i].Entity
			if states[e] != nil {
				continue
			}
			err := sqlitedb.Exec(c, "SELECT seen_version, version, hash, updated_at, tier, bytes, checked_at FROM snapshot WHERE source = ? AND key = ?", func(r *sqlite.Stmt) {
				st := &state{
					seen: r.ColumnInt64(0), version: r.ColumnInt64(1), updated: r.ColumnInt64(3),
					tier: refresh.Tier(r.ColumnInt64(4)), bytes: r.ColumnInt64(5), checked: r.ColumnInt64(6),
				}
				r.ColumnBytes(2, st.hash[:])
				states[e] = st
			}, e.Source, e.Key)
			if err != nil {
				return nil, err
			}
		}
	}
	return states, nil
}

// carryOut changes the state of an entity as was judged.
func (s *Store) carryOut(states map[refresh.Entity]*state, r *result, what refresh.Saved) {
	if what == refresh.Obsolete {
		return
	}
	st := states[r.Entity]
	if st == nil {
		st = &state{tier: refresh.Cold}
		states[r.Entity] = st
	}
	// The version decides on the value; the time of the last look does not go back.
	st.touched, st.seen, st.checked = true, r.version, max(st.checked, r.at)
	st.due = st.checked + s.tiers.Interval(st.tier)
	if what == refresh.Touched {
		return
	}
	if st.version > 0 && !st.stored {
		st.replaced = &value{st.version, st.hash}
	}
	st.version, st.hash, st.updated, st.bytes = r.version, r.hash, r.at, int64(len(r.packed))
	st.stored = true
}
