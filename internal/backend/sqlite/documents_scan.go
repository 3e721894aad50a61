package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

// documentScanBatch is how many documents one read transaction fetches: a caller that
// is slow, such as an export to a pipe, must not keep an old snapshot of the
// database alive.
const documentScanBatch = 512

// scan begins a scan.
func (s *Documents) scan(q document.Query) func(ctx context.Context, after document.Key, limit int) ([]document.Document, error) {
	chunks, columns := &chunkCache{store: s}, newReadColumns(s.columns.own.For(s.kinds, q))
	return func(ctx context.Context, after document.Key, limit int) (batch []document.Document, err error) {
		where, args := documentConditions(q, after)
		var places []tables.Place
		err = s.db.Read(ctx, func(c *driver.Conn) error {
			err := Exec(c, "SELECT "+columns.list+" FROM "+documentsFrom+" WHERE "+where+" ORDER BY d.account_id, d.kind, d.name LIMIT ?",
				func(r *driver.Stmt) {
					d, in := s.scanDocument(r, &columns)
					batch, places = append(batch, d), append(places, in)
				}, append(args, limit)...)
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
}

func documentConditions(q document.Query, after document.Key) (string, []any) {
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

// maxCachedChunks bounds a scan's memory: documents of one page lie close
// together in any order people scan in, but not next to each other.
const maxCachedChunks = 64

// chunkCache keeps decompressed chunks for the length of a scan.
type chunkCache struct {
	store  *Documents
	chunks map[int64][]byte
}

func (cc *chunkCache) load(c *driver.Conn, p tables.Place) ([]byte, error) {
	plain, ok := cc.chunks[p.Chunk]
	if !ok {
		var data []byte
		err := Exec(c, "SELECT data FROM chunk WHERE id = ?", func(r *driver.Stmt) { data = readBlob(r, 0) }, p.Chunk)
		if err != nil {
			return nil, err
		}
		if plain, err = cc.store.Unpack(data); err != nil {
			return nil, err
		}
		if cc.chunks == nil || len(cc.chunks) >= maxCachedChunks {
			cc.chunks = make(map[int64][]byte, maxCachedChunks)
		}
		cc.chunks[p.Chunk] = plain
	}
	return p.Cut(plain)
}
