package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/sqlitedb"
)

// scanBatch is how many documents one read transaction fetches: a caller that
// is slow, such as an export to a pipe, must not keep an old snapshot of the
// database alive.
const scanBatch = 512

// Scan implements document.Reader.
func (s *Store) Scan(ctx context.Context, q document.Query, fn func(*document.Document) error) error {
	after := document.Key{}
	chunks := &chunkCache{store: s}
	for {
		batch, err := s.scanBatch(ctx, q, after, chunks)
		if err != nil {
			return err
		}
		for i := range batch {
			if err := fn(&batch[i]); err != nil {
				return err
			}
		}
		if len(batch) < scanBatch {
			return nil
		}
		after = batch[len(batch)-1].Key
	}
}

func (s *Store) scanBatch(ctx context.Context, q document.Query, after document.Key, chunks *chunkCache) ([]document.Document, error) {
	where, args := conditions(q, after)
	var batch []document.Document
	var places []place
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		err := sqlitedb.Exec(c, "SELECT "+columns+", d.chunk, d.chunk_start, d.chunk_size FROM document d WHERE "+where+
			" ORDER BY d.account_id, d.kind, d.name LIMIT ?",
			func(r *sqlite.Stmt) {
				batch = append(batch, scan(r))
				places = append(places, place{r.ColumnInt64(columnCount), r.ColumnInt(columnCount + 1), r.ColumnInt(columnCount + 2)})
			}, append(args, scanBatch)...)
		if err != nil || !q.WithRaw {
			return err
		}
		for i, p := range places {
			if batch[i].Raw, err = chunks.load(c, p); err != nil {
				return err
			}
		}
		return nil
	})
	return batch, err
}

func conditions(q document.Query, after document.Key) (string, []any) {
	where, args := "1", []any{}
	add := func(condition string, values ...any) {
		where, args = where+" AND "+condition, append(args, values...)
	}
	if q.Account != 0 {
		add("d.account_id = ?", q.Account)
	}
	if q.Kind != "" {
		add("d.kind = ?", string(q.Kind))
	}
	if q.Repository != 0 {
		add("d.repository = ?", q.Repository)
	}
	if !q.Since.IsZero() {
		add("d.created_at >= ?", q.Since)
	}
	if !q.Until.IsZero() {
		add("d.created_at < ?", q.Until)
	}
	switch {
	case after.Name == "":
	case q.Account != 0 && q.Kind != "":
		// SQLite seeks by a row value only if no part of it is fixed already.
		add("d.name > ?", after.Name)
	default:
		add("(d.account_id, d.kind, d.name) > (?, ?, ?)", after.Account, string(after.Kind), after.Name)
	}
	return where, args
}

// place is where a payload is: a part of a chunk.
type place struct {
	chunk       int64
	start, size int
}

// maxCachedChunks bounds a scan's memory: documents of one page lie close
// together in any order people scan in, but not next to each other.
const maxCachedChunks = 64

// chunkCache keeps decompressed chunks for the length of a scan.
type chunkCache struct {
	store  *Store
	chunks map[int64][]byte
}

func (cc *chunkCache) load(c *sqlite.Conn, p place) ([]byte, error) {
	plain, ok := cc.chunks[p.chunk]
	if !ok {
		var data []byte
		err := sqlitedb.Exec(c, "SELECT data FROM chunk WHERE id = ?", func(r *sqlite.Stmt) { data = sqlitedb.Blob(r, 0) }, p.chunk)
		if err != nil {
			return nil, err
		}
		if plain, err = cc.store.decompress(data); err != nil {
			return nil, err
		}
		if cc.chunks == nil || len(cc.chunks) >= maxCachedChunks {
			cc.chunks = make(map[int64][]byte, maxCachedChunks)
		}
		cc.chunks[p.chunk] = plain
	}
	return cut(plain, p)
}
