package mysql

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/document"
	"sluice/internal/mysqldb"
)

// How many documents one query fetches: a caller that is slow, such as an
// export to a pipe, must not keep a query open. Payloads take more memory.
const (
	scanBatch    = 512
	scanRawBatch = 128
)

// Scan implements document.Reader.
func (s *Store) Scan(ctx context.Context, q document.Query, fn func(*document.Document) error) error {
	after := document.Key{}
	chunks := &chunkCache{store: s}
	limit := scanBatch
	if q.WithRaw {
		limit = scanRawBatch
	}
	for {
		batch, err := s.scanBatch(ctx, q, after, limit, chunks)
		if err != nil {
			return err
		}
		for i := range batch {
			if err := fn(&batch[i]); err != nil {
				return err
			}
		}
		if len(batch) < limit {
			return nil
		}
		after = batch[len(batch)-1].Key
	}
}

func (s *Store) scanBatch(ctx context.Context, q document.Query, after document.Key, limit int, chunks *chunkCache) ([]document.Document, error) {
	find := selection(q, after, limit)
	var batch []document.Document
	var places []place
	each := func(r *sql.Rows) error {
		d, at, err := scan(r)
		batch, places = append(batch, d), append(places, at)
		return err
	}
	if !q.WithRaw {
		err := s.db.Run(ctx, find, each)
		return batch, err
	}
	// A chunk may be removed when newer copies have replaced its documents:
	// both are read as they were at one moment.
	err := s.db.Snapshot(ctx, func(tx *sql.Tx) error {
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
		if batch[i].Raw, err = cut(chunks.plain[p.chunk], p); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

func selection(q document.Query, after document.Key, limit int) *mysqldb.Statement {
	var s mysqldb.Statement
	s.Write("SELECT " + columns + " FROM document d FORCE INDEX (PRIMARY) WHERE 1 = 1")
	if q.Account != 0 {
		s.Write(" AND d.account_id = ").Int(q.Account)
	}
	if q.Kind != "" {
		s.Write(" AND d.kind = ").Blob(keyOf(string(q.Kind), kindWidth))
	}
	if q.Repository != 0 {
		s.Write(" AND d.repository = ").Int(q.Repository)
	}
	if !q.Since.IsZero() {
		s.Write(" AND d.created_at >= ").Time(q.Since)
	}
	if !q.Until.IsZero() {
		s.Write(" AND d.created_at < ").Time(q.Until)
	}
	if after.Name != "" {
		resume(&s, q, after)
	}
	s.Write(" ORDER BY d.account_id, d.kind, d.name LIMIT ").Int(int64(limit))
	return &s
}

// resume restricts a scan to what follows a key. It is spelt out, as a
// comparison of whole rows is not looked up in an index by every server.
func resume(s *mysqldb.Statement, q document.Query, after document.Key) {
	kind, name := keyOf(string(after.Kind), kindWidth), keyOf(after.Name, nameWidth)
	if q.Account != 0 && q.Kind != "" {
		s.Write(" AND d.name > ").Blob(name)
		return
	}
	s.Write(" AND (")
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
	store *Store
	plain map[int64][]byte
}

// load makes sure that the chunks of these places are there.
func (c *chunkCache) load(ctx context.Context, tx *sql.Tx, places []place) error {
	if c.plain == nil || len(c.plain) >= maxCachedChunks {
		c.plain = make(map[int64][]byte, maxCachedChunks)
	}
	var missing []int64
	for _, p := range places {
		if _, ok := c.plain[p.chunk]; !ok && !slices.Contains(missing, p.chunk) {
			missing = append(missing, p.chunk)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var find mysqldb.Statement
	find.Write("SELECT id, data FROM chunk WHERE id IN (").Ints(missing...).Write(")")
	return find.Query(ctx, tx, func(r *sql.Rows) error {
		var id int64
		var data sql.RawBytes
		if err := r.Scan(&id, &data); err != nil {
			return err
		}
		plain, err := c.store.decompress(data)
		c.plain[id] = plain
		return err
	})
}
