package mysql

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/refresh"
)

// saveItem is one Save on its way to the server.
type saveItem struct {
	results []result
	answers []refresh.Saved
	// again is set if a body turned out to be needed that was not compressed:
	// nothing was done then.
	again bool
	err   error
}

// result is what one refresh brought, without its body.
type result struct {
	refresh.Entity
	identity    mysqldb.Hash
	version, at int64
	hash        refresh.Hash
	// packed is the compressed body; nil if it seems to be stored already.
	packed []byte
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
		if err == nil {
			err = item.err
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
// while others have their turn at the server.
func (s *Store) pack(ctx context.Context, refreshed []refresh.Refreshed, everything bool) (*saveItem, error) {
	item := &saveItem{results: make([]result, len(refreshed))}
	identities := make([]mysqldb.Hash, len(refreshed))
	for i := range refreshed {
		r := &refreshed[i]
		identities[i] = identityOf(r.Entity)
		item.results[i] = result{Entity: r.Entity, identity: identities[i], version: r.Version, at: mysqldb.Micros(r.At), hash: r.Hash}
	}
	hashes := map[mysqldb.Hash]refresh.Hash{}
	if !everything {
		if err := s.readHashes(ctx, identities, hashes); err != nil {
			return nil, err
		}
	}
	for i := range refreshed {
		r := &item.results[i]
		if hash, known := hashes[r.identity]; !known || hash != r.hash {
			r.packed = s.packer.Pack(refreshed[i].Body)
		}
	}
	return item, nil
}

func (s *Store) readHashes(ctx context.Context, identities []mysqldb.Hash, into map[mysqldb.Hash]refresh.Hash) error {
	for part := range slices.Chunk(identities, maxIdentities) {
		var find mysqldb.Statement
		find.Write("SELECT identity, hash FROM snapshot FORCE INDEX (PRIMARY) WHERE version > 0 AND identity IN (")
		err := s.db.Run(ctx, writeIdentities(&find, part).Write(")"), func(r *sql.Rows) error {
			var identity, hash sql.RawBytes
			if err := r.Scan(&identity, &hash); err != nil {
				return err
			}
			into[mysqldb.Hash(identity)] = refresh.Hash(hash)
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
func (s *Store) shareSaves(ctx context.Context, items []*saveItem) error {
	err := s.applySaves(ctx, items)
	if err == nil || len(items) == 1 || domain.CodeOf(err) == domain.CodeUnavailable {
		return err
	}
	for i, item := range items {
		item.err = s.applySaves(ctx, items[i:i+1])
	}
	return nil
}

// judge says what is to be done with a result. An event that was carried out
// twice, by two workers, has two results of one version: the later look counts,
// also if the other worker was held up and comes last.
func judge(t *row, r *result) refresh.Saved {
	switch {
	case r.version < t.seen, r.version == t.seen && r.at < t.checked:
		return refresh.Obsolete
	case t.version > 0 && r.hash == t.hash:
		return refresh.Touched
	}
	return refresh.Stored
}

// saving is what a transaction of saves has to write.
type saving struct {
	tiers refresh.Tiers
	rows  map[mysqldb.Hash]*row
	// touched are rows whose value stays; it may change after all.
	touched map[*row]bool
	values  []*result
	// replaced are the values that were there before.
	replaced map[mysqldb.Hash]value
	// healed are those whose status ends.
	healed []mysqldb.Hash
}

// value names a stored value of an entity.
type value struct {
	version int64
	hash    refresh.Hash
}

// applySaves does the work of all items, in their order.
func (s *Store) applySaves(ctx context.Context, items []*saveItem) error {
	entities := make(map[mysqldb.Hash]refresh.Entity, len(items)*len(items[0].results))
	for _, item := range items {
		for i := range item.results {
			entities[item.results[i].identity] = item.results[i].Entity
		}
	}
	return s.change(ctx, entities, func(tx *sql.Tx, rows map[mysqldb.Hash]*row) error {
		w := &saving{tiers: s.tiers, rows: rows, touched: map[*row]bool{}, replaced: map[mysqldb.Hash]value{}}
		for _, item := range items {
			w.add(item)
		}
		return w.write(ctx, tx)
	})
}

// add judges an item and changes the rows accordingly.
func (w *saving) add(item *saveItem) {
	item.answers, item.again, item.err = make([]refresh.Saved, len(item.results)), false, nil
	for i := range item.results {
		r := &item.results[i]
		item.answers[i] = judge(w.rows[r.identity], r)
		item.again = item.again || item.answers[i] == refresh.Stored && r.packed == nil
	}
	if item.again {
		return
	}
	for i := range item.results {
		w.carryOut(&item.results[i], item.answers[i])
	}
}

// carryOut changes a row as was judged.
func (w *saving) carryOut(r *result, what refresh.Saved) {
	if what == refresh.Obsolete {
		return
	}
	t := w.rows[r.identity]
	// The look of an earlier version may have been the later one, if its event was
	// carried out twice: the version decides on the value, but the time of the
	// last look does not go back.
	t.seen, t.checked = r.version, max(t.checked, r.at)
	t.due = sql.NullInt64{Int64: t.checked + w.tiers.Interval(t.tier), Valid: true}
	if t.troubled {
		t.troubled, t.changed = false, true
		w.healed = append(w.healed, t.identity)
	}
	if what == refresh.Touched {
		w.touched[t] = true
		return
	}
	if _, known := w.replaced[t.identity]; !known && t.version > 0 {
		w.replaced[t.identity] = value{t.version, t.hash}
	}
	t.version, t.hash, t.updated, t.bytes, t.changed = r.version, r.hash, r.at, int64(len(r.packed)), true
	w.values = append(w.values, r)
}

func (w *saving) write(ctx context.Context, tx *sql.Tx) error {
	var touched []*row
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
	return endStatuses(ctx, tx, w.healed)
}

const removeSQL = `DELETE snapshot_value FROM snapshot_value FORCE INDEX (snapshot_value_identity)
	WHERE listed = 0 AND (identity, version, hash) IN (`

// removeReplaced removes values that were kept for their snapshots alone.
func (w *saving) removeReplaced(ctx context.Context, tx *sql.Tx) error {
	var old []mysqldb.Hash
	for identity, v := range w.replaced {
		if t := w.rows[identity]; v != (value{t.version, t.hash}) {
			old = append(old, identity)
		}
	}
	slices.SortFunc(old, compareHashes)
	for part := range slices.Chunk(old, maxIdentities) {
		var remove mysqldb.Statement
		remove.Write(removeSQL)
		for i, identity := range part {
			if i > 0 {
				remove.Write(",")
			}
			v := w.replaced[identity]
			remove.Write("(").Hash(identity).Write(",").Int(v.version).Write(",")
			writeHash(&remove, v.hash).Write(")")
		}
		if _, err := remove.Write(")").Exec(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}
