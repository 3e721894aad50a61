package relational

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// saveItem is one Save on its way to the server.
type saveItem struct {
	refresh.SaveCall
	// identities are those of the results.
	identities []Hash
	err        error
}

// valueRow is a value that is inserted.
type valueRow struct {
	identity Hash
	*refresh.Result
}

// Save implements refresh.Snapshots. An entity counts as refreshed by a version
// also if that found nothing new: what an earlier one brings is obsolete.
func (s *Snapshots) Save(ctx context.Context, refreshed []refresh.Refreshed) ([]refresh.Saved, error) {
	return refresh.SaveBy(refreshed, func(everything bool) (*refresh.SaveCall, error) {
		item, err := s.pack(ctx, refreshed, everything)
		if err == nil {
			err = s.saves.Do(ctx, item)
		}
		if err != nil {
			return nil, err
		}
		return &item.SaveCall, item.err
	})
}

// pack compresses the bodies that are not stored as they are, or all of them,
// while others have their turn at the server.
func (s *Snapshots) pack(ctx context.Context, refreshed []refresh.Refreshed, everything bool) (*saveItem, error) {
	item := &saveItem{identities: make([]Hash, len(refreshed))}
	item.Results = make([]refresh.Result, len(refreshed))
	for i := range refreshed {
		r := &refreshed[i]
		item.identities[i] = entityIdentity(r.Entity)
		item.Results[i] = r.Result()
	}
	hashes := map[Hash]refresh.Hash{}
	if !everything {
		if err := s.readHashes(ctx, item.identities, hashes); err != nil {
			return nil, err
		}
	}
	for i := range refreshed {
		r := &item.Results[i]
		if hash, known := hashes[item.identities[i]]; !known || hash != r.Hash {
			r.Packed = s.packer.Pack(refreshed[i].Body)
		}
	}
	return item, nil
}

func (s *Snapshots) readHashes(ctx context.Context, identities []Hash, into map[Hash]refresh.Hash) error {
	for part := range slices.Chunk(identities, maxIdentities) {
		var find Statement
		find.Write("SELECT identity, hash FROM snapshot /*! FORCE INDEX (PRIMARY) */ WHERE version > 0 AND identity IN (")
		err := s.db.Run(ctx, writeIdentities(&find, part).Write(")"), func(r *sql.Rows) error {
			var identity, hash sql.RawBytes
			if err := r.Scan(&identity, &hash); err != nil {
				return err
			}
			into[Hash(identity)] = refresh.Hash(hash)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shareSaves applies items together and, if that is refused for what one of
// them holds, each alone, so that only the culprit fails.
func (s *Snapshots) shareSaves(ctx context.Context, items []*saveItem) error {
	err := s.applySaves(ctx, items)
	if err == nil || len(items) == 1 || domain.CodeOf(err) == domain.CodeUnavailable {
		return err
	}
	for i, item := range items {
		item.err = s.applySaves(ctx, items[i:i+1])
	}
	return nil
}

// saving is what a transaction of saves has to write.
type saving struct {
	tiers refresh.Tiers
	rows  map[Hash]*entityRow
	// touched are rows whose value stays; it may change after all.
	touched map[*entityRow]bool
	values  []valueRow
	// replaced are the values that were there before.
	replaced map[Hash]refresh.ValueID
	// healed are those whose status ends.
	healed []Hash
	// settled are the versions of requests that end.
	settled map[Hash]int64
}

// applySaves does the work of all items, in their order.
func (s *Snapshots) applySaves(ctx context.Context, items []*saveItem) error {
	entities := make(map[Hash]refresh.Entity, len(items)*len(items[0].Results))
	for _, item := range items {
		for i := range item.Results {
			entities[item.identities[i]] = item.Results[i].Entity
		}
	}
	return s.change(ctx, entities, func(tx *Tx, rows map[Hash]*entityRow) error {
		w := &saving{tiers: s.tiers, rows: rows, touched: map[*entityRow]bool{}, replaced: map[Hash]refresh.ValueID{}, settled: map[Hash]int64{}}
		for _, item := range items {
			w.add(item)
		}
		return w.write(ctx, tx)
	})
}

// add judges an item and changes the rows accordingly.
func (w *saving) add(item *saveItem) {
	item.err = nil
	if !item.Judge(func(i int) *refresh.Known { return &w.rows[item.identities[i]].Known }) {
		return
	}
	for i := range item.Results {
		if item.Answers[i] != refresh.Obsolete {
			w.save(valueRow{item.identities[i], &item.Results[i]}, item.Answers[i])
		}
	}
}

// save changes a row as was judged.
func (w *saving) save(r valueRow, as refresh.Saved) {
	t := w.rows[r.identity]
	was := t.ValueID
	t.Save(r.Result, as, w.tiers)
	if kept := (refresh.Pending{Event: refresh.Event{Version: t.request}}); t.request > 0 && kept.Settles(t.Seen) {
		w.settled[t.identity] = t.request
		t.request = 0
	}
	if t.troubled {
		t.troubled, t.changed = false, true
		w.healed = append(w.healed, t.identity)
	}
	if as == refresh.Touched {
		w.touched[t] = true
		return
	}
	if _, known := w.replaced[t.identity]; !known && was.Version > 0 {
		w.replaced[t.identity] = was
	}
	t.changed = true
	w.values = append(w.values, r)
}

func (w *saving) write(ctx context.Context, tx *Tx) error {
	var touched []*entityRow
	for t := range w.touched {
		if !t.changed {
			touched = append(touched, t)
		}
	}
	if err := writeTouched(ctx, tx, touched); err != nil {
		return err
	}
	if len(w.values) > 0 {
		if err := holdGate(ctx, tx); err != nil {
			return err
		}
		if err := insertValues(ctx, tx, insertValue, w.values); err != nil {
			return err
		}
		if err := w.removeReplaced(ctx, tx); err != nil {
			return err
		}
	}
	if err := endRequests(ctx, tx, w.settled); err != nil {
		return err
	}
	return endStatuses(ctx, tx, w.healed)
}

const removeValuesSQL = `DELETE /*! snapshot_value */ FROM snapshot_value /*! FORCE INDEX (snapshot_value_identity) */
	WHERE listed = 0 AND identity IN (`

// removeReplaced removes values that were kept for their snapshots alone.
func (w *saving) removeReplaced(ctx context.Context, tx *Tx) error {
	var old []Hash
	for identity, v := range w.replaced {
		if v != w.rows[identity].ValueID {
			old = append(old, identity)
		}
	}
	slices.SortFunc(old, compareHashes)
	for part := range slices.Chunk(old, maxIdentities) {
		var remove Statement
		// The identities alone are what every server looks up.
		writeIdentities(remove.Write(removeValuesSQL), part).Write(") AND (identity, version, hash) IN (")
		for i, identity := range part {
			if i > 0 {
				remove.Write(",")
			}
			v := w.replaced[identity]
			remove.Write("(").Hash(identity).Write(",").Int(v.Version).Write(",")
			writeHash(&remove, v.Hash).Write(")")
		}
		if _, err := remove.Write(")").Exec(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}
