package relational

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

// How many documents one query fetches: a caller that is slow, such as an
// export to a pipe, must not keep a query open. Payloads take more memory.
const (
	scanBatch    = 512
	scanRawBatch = 128
)

// scan begins a scan.
func (s *Documents) scan(q document.Query) func(ctx context.Context, after document.Key, limit int) ([]document.Document, error) {
	chunks := &chunkCache{store: s}
	return func(ctx context.Context, after document.Key, limit int) ([]document.Document, error) {
		return s.scanBatch(ctx, q, after, limit, chunks)
	}
}

func (s *Documents) scanBatch(ctx context.Context, q document.Query, after document.Key, limit int, chunks *chunkCache) ([]document.Document, error) {
	columns := newReadColumns(s.columns.own.For(s.kinds, q))
	find := s.selection(q, columns.list, after, limit)
	var batch []document.Document
	var places []tables.Place
	each := func(r *sql.Rows) error {
		d, at, err := s.scanDocument(r, &columns)
		batch, places = append(batch, d), append(places, at)
		return err
	}
	if !q.WithRaw {
		err := s.db.Run(ctx, find, each)
		return batch, err
	}
	// A chunk may be removed when newer copies have replaced its documents:
	// both are read as they were at one moment.
	err := s.db.Snapshot(ctx, func(tx *Tx) error {
		batch, places = nil, nil
		if err := find.Query(ctx, tx, each); err != nil {
			return err
		}
		return chunks.load(ctx, tx, places)
	})
	if err != nil {
		return nil, err
	}
	for i, p := range places {
		if batch[i].Raw, err = p.Cut(chunks.plain[p.Chunk]); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

func (s *Documents) selection(q document.Query, columns string, after document.Key, limit int) *Statement {
	var find Statement
	find.Write("SELECT " + columns + " FROM " + documentsFrom + " WHERE 1 = 1")
	if q.Account != 0 {
		find.Write(" AND d.account_id = ").Int(q.Account)
	}
	if q.Kind != "" {
		find.Write(" AND d.kind = ").Blob(keyOf(string(q.Kind), kindWidth))
	}
	if q.Repository != 0 {
		find.Write(" AND d.repository = ").Int(q.Repository)
	}
	if !q.Since.IsZero() {
		find.Write(" AND d.created_at >= ").Time(q.Since)
	}
	if !q.Until.IsZero() {
		find.Write(" AND d.created_at < ").Time(q.Until)
	}
	if after.Name != "" {
		resumeScan(&find, q, after)
	}
	find.Write(" ORDER BY d.account_id, d.kind, d.name LIMIT ").Int(int64(limit))
	return &find
}

// resumeScan restricts a scan to what follows a key. It is said twice, as some
// servers look up a comparison of whole rows in an index, and others what is spelt
// out.
func resumeScan(s *Statement, q document.Query, after document.Key) {
	kind, name := keyOf(string(after.Kind), kindWidth), keyOf(after.Name, nameWidth)
	if q.Account != 0 && q.Kind != "" {
		s.Write(" AND d.name > ").Blob(name)
		return
	}
	s.Write(" AND (d.account_id, d.kind, d.name) > (").Int(after.Account).Write(",").Blob(kind).Write(",").Blob(name).Write(") AND (")
	if q.Account == 0 {
		s.Write("d.account_id > ").Int(after.Account).Write(" OR ")
	}
	s.Write("(d.account_id = ").Int(after.Account).Write(" AND d.kind > ").Blob(kind)
	s.Write(") OR (d.account_id = ").Int(after.Account).Write(" AND d.kind = ").Blob(kind).Write(" AND d.name > ").Blob(name).Write("))")
}

// maxCachedChunks bounds a scan's memory: documents of one page lie close
// together in any order people scan in, but not next to each other.
const maxCachedChunks = 64

// chunkCache keeps decompressed chunks for the length of a scan.
type chunkCache struct {
	store *Documents
	plain map[int64][]byte
}

// load makes sure that the chunks of these places are there.
func (c *chunkCache) load(ctx context.Context, tx *Tx, places []tables.Place) error {
	if c.plain == nil || len(c.plain) >= maxCachedChunks {
		c.plain = make(map[int64][]byte, maxCachedChunks)
	}
	var missing []int64
	for _, p := range places {
		if _, ok := c.plain[p.Chunk]; !ok && !slices.Contains(missing, p.Chunk) {
			missing = append(missing, p.Chunk)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var find Statement
	find.Write("SELECT id, data FROM chunk WHERE id IN (").Ints(missing...).Write(")")
	return find.Query(ctx, tx, func(r *sql.Rows) error {
		var id int64
		var data sql.RawBytes
		if err := r.Scan(&id, &data); err != nil {
			return err
		}
		plain, err := c.store.Unpack(data)
		c.plain[id] = plain
		return err
	})
}
