// Package sqlite keeps documents in the embedded database, beside the state.
// Their fields are columns; their payloads are compressed together, those of
// one page in one chunk, because neighbours resemble each other.
package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
	"zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
)

// Store implements document.Store.
type Store struct {
	db  *sqlitedb.DB
	enc *zstd.Encoder
	dec *zstd.Decoder
}

var _ document.Store = (*Store)(nil)

// New returns a store on an open database; the caller closes that.
func New(db *sqlitedb.DB) (*Store, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fmt.Errorf("prepare compression: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0))
	if err != nil {
		return nil, fmt.Errorf("prepare decompression: %w", err)
	}
	return &Store{db: db, enc: enc, dec: dec}, nil
}

// Upsert implements document.Writer.
func (s *Store) Upsert(ctx context.Context, docs []document.Document) error {
	if len(docs) == 0 {
		return nil
	}
	write, err := s.Pack(docs)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, write)
}

// Pack compresses documents and returns the function that stores them inside
// a transaction of the embedded database.
func (s *Store) Pack(docs []document.Document) (func(*sqlite.Conn) error, error) {
	for i := range docs {
		if err := checkKey(docs[i].Key); err != nil {
			return nil, err
		}
	}
	// A chunk belongs to one account, and goes when nothing of that account
	// needs it any more. A page never has more than one.
	var parts []*packed
	for len(docs) > 0 {
		n := slices.IndexFunc(docs, func(d document.Document) bool { return d.Account != docs[0].Account })
		if n < 0 {
			n = len(docs)
		}
		parts, docs = append(parts, s.pack(docs[:n])), docs[n:]
	}
	return func(c *sqlite.Conn) error {
		for _, p := range parts {
			if err := p.write(c); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (s *Store) pack(docs []document.Document) *packed {
	size := 0
	for i := range docs {
		size += len(docs[i].Raw)
	}
	p := &packed{docs: docs, starts: make([]int, len(docs))}
	plain := make([]byte, 0, size)
	for i := range docs {
		p.starts[i] = len(plain)
		plain = append(plain, docs[i].Raw...)
	}
	p.chunk = s.enc.EncodeAll(plain, make([]byte, 0, size/4+64))
	return p
}

// MarkDeleted implements document.Writer.
func (s *Store) MarkDeleted(ctx context.Context, absences []document.Absence) error {
	return s.db.Write(ctx, func(c *sqlite.Conn) error { return s.Flag(c, absences) })
}

// Flag is MarkDeleted inside a transaction of the embedded database.
func (s *Store) Flag(c *sqlite.Conn, absences []document.Absence) error {
	for _, a := range absences {
		query, args := "UPDATE document SET flags = flags | ? WHERE account_id = ? AND repository = ?", []any{int64(flagDeleted), a.Account, a.Repository}
		if a.Kind != "" {
			query += " AND kind = ? AND number > ? AND number <= ? AND created_at < ? AND number NOT IN (SELECT value FROM json_each(?))"
			args = append(args, string(a.Kind), a.After, a.UpTo, a.CreatedBefore, sqlitedb.IDList(a.Present))
		} else {
			query, args = query+" AND kind <> ?", append(args, string(document.KindEvent))
		}
		if err := sqlitedb.Exec(c, query, nil, args...); err != nil {
			return err
		}
	}
	return nil
}

// compactShare is how many of an account's payload chunks there may be for each
// document received before looking for replaced ones is worth its while: the
// look costs a scan of the account's documents.
const compactShare = 20

// Compact removes chunks that hold no document's payload any more.
func (s *Store) Compact(c *sqlite.Conn, account, received int64) error {
	chunks := int64(0)
	err := sqlitedb.Exec(c, "SELECT count(*) FROM chunk WHERE account_id = ?",
		func(r *sqlite.Stmt) { chunks = r.ColumnInt64(0) }, account)
	if err != nil || received*compactShare < chunks {
		return err
	}
	return sqlitedb.Exec(c, `DELETE FROM chunk WHERE account_id = ?1
		AND id NOT IN (SELECT chunk FROM document WHERE account_id = ?1)`, nil, account)
}

// Get implements document.Reader.
func (s *Store) Get(ctx context.Context, key document.Key) (document.Document, bool, error) {
	var doc document.Document
	var chunk []byte
	var at place
	found := false
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT "+columns+", d.chunk_start, d.chunk_size, c.data FROM document d JOIN chunk c ON c.id = d.chunk"+
			" WHERE d.account_id = ? AND d.kind = ? AND d.name = ?",
			func(r *sqlite.Stmt) {
				doc, found = scan(r), true
				at = place{start: r.ColumnInt(columnCount), size: r.ColumnInt(columnCount + 1)}
				chunk = sqlitedb.Blob(r, columnCount+2)
			}, key.Account, string(key.Kind), key.Name)
	})
	if err != nil || !found {
		return document.Document{}, false, err
	}
	plain, err := s.decompress(chunk)
	if err != nil {
		return document.Document{}, false, err
	}
	if doc.Raw, err = cut(plain, at); err != nil {
		return document.Document{}, false, err
	}
	return doc, true, nil
}

func (s *Store) decompress(chunk []byte) ([]byte, error) {
	plain, err := s.dec.DecodeAll(chunk, nil)
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "a stored payload cannot be decompressed: %w", err)
	}
	return plain, nil
}

// cut returns one payload of a chunk.
func cut(plain []byte, p place) ([]byte, error) {
	if p.start < 0 || p.size < 0 || p.start+p.size > len(plain) {
		return nil, domain.Errorf(domain.CodeCorrupt, "a stored payload of %d bytes ends beyond its chunk of %d", p.size, len(plain))
	}
	return plain[p.start : p.start+p.size : p.start+p.size], nil
}

// Count implements document.Reader.
func (s *Store) Count(ctx context.Context, account int64) (map[document.Kind]int64, error) {
	out := map[document.Kind]int64{}
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT kind, count(*) FROM document WHERE account_id = ? GROUP BY kind",
			func(r *sqlite.Stmt) { out[document.Kind(r.ColumnText(0))] = r.ColumnInt64(1) }, account)
	})
	return out, err
}
