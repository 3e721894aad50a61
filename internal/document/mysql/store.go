// Package mysql keeps documents in MySQL or MariaDB, beside the state or
// alone. Their fields are columns; their payloads are compressed together,
// those of one page in one chunk, because neighbours resemble each other.
package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/mysqldb"
)

// Store implements document.Store.
type Store struct {
	db     *mysqldb.DB
	chunks *mysqldb.Sequence
	enc    *zstd.Encoder
	dec    *zstd.Decoder
}

var _ document.Store = (*Store)(nil)

// chunkBlock is how many chunk ids a process takes at a time.
const chunkBlock = 1024

// New returns a store on an open database; the caller closes that.
func New(db *mysqldb.DB) (*Store, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fmt.Errorf("prepare compression: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0))
	if err != nil {
		return nil, fmt.Errorf("prepare decompression: %w", err)
	}
	return &Store{db: db, chunks: mysqldb.NewSequence(db, "chunk", chunkBlock), enc: enc, dec: dec}, nil
}

// Upsert implements document.Writer.
func (s *Store) Upsert(ctx context.Context, docs []document.Document) error {
	if len(docs) == 0 {
		return nil
	}
	rows, err := s.Pack(ctx, docs)
	if err != nil {
		return err
	}
	return s.db.Tx(ctx, func(tx *sql.Tx) error { return mysqldb.Write(ctx, tx, rows) })
}

// maxChunk is how large the payloads of a chunk are together, unless a single
// one is larger.
const maxChunk = 4 << 20

// packetSpare is what a packet holds beside a chunk.
const packetSpare = 1 << 10

// Pack compresses documents and returns their rows, which may be inserted in
// any transaction, and again if that is undone.
func (s *Store) Pack(ctx context.Context, docs []document.Document) ([]mysqldb.Rows, error) {
	for i := range docs {
		if err := checkKey(docs[i].Key); err != nil {
			return nil, err
		}
	}
	parts := split(docs)
	first, err := s.chunks.Take(ctx, len(parts))
	if err != nil {
		return nil, err
	}
	chunks := mysqldb.Rows{Insert: insertChunk, Rows: make([]mysqldb.Row, 0, len(parts))}
	rows := mysqldb.Rows{Insert: insertDocument, Rows: make([]mysqldb.Row, 0, len(docs))}
	for i, part := range parts {
		id := first + int64(i)
		plain := make([]byte, 0, size(part))
		for k := range part {
			rows.Rows = append(rows.Rows, documentRow(&part[k], place{id, len(plain), len(part[k].Raw)}))
			plain = append(plain, part[k].Raw...)
		}
		data := s.enc.EncodeAll(plain, make([]byte, 0, len(plain)/4+64))
		if limit := s.db.MaxPacket() - packetSpare; len(data) > limit {
			return nil, domain.Errorf(domain.CodeInvalid,
				"document %s %q of account %d has %d compressed bytes; the server takes %d: raise its max_allowed_packet", part[0].Kind, part[0].Name, part[0].Account, len(data), limit)
		}
		chunks.Rows = append(chunks.Rows, chunkRow(id, part[0].Account, data))
	}
	return []mysqldb.Rows{chunks, rows}, nil
}

func size(docs []document.Document) int {
	n := 0
	for i := range docs {
		n += len(docs[i].Raw)
	}
	return n
}

// split cuts documents into what shares a chunk: neighbours of one account, up
// to a size.
func split(docs []document.Document) [][]document.Document {
	var parts [][]document.Document
	from, total := 0, 0
	for i := range docs {
		n := len(docs[i].Raw)
		if i > from && (docs[i].Account != docs[from].Account || total+n > maxChunk) {
			parts = append(parts, docs[from:i])
			from, total = i, 0
		}
		total += n
	}
	return append(parts, docs[from:])
}

// MarkDeleted implements document.Writer.
func (s *Store) MarkDeleted(ctx context.Context, absences []document.Absence) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error { return s.Flag(ctx, tx, absences) })
}

// Flag is MarkDeleted inside a transaction.
func (s *Store) Flag(ctx context.Context, tx *sql.Tx, absences []document.Absence) error {
	for _, a := range absences {
		var set mysqldb.Statement
		set.Write("UPDATE document SET flags = flags | ").Int(flagDeleted)
		set.Write(" WHERE account_id = ").Int(a.Account).Write(" AND repository = ").Int(a.Repository)
		if a.Kind != "" {
			set.Write(" AND kind = ").Blob(keyOf(string(a.Kind), kindWidth)).Write(" AND number > ").Int(a.After)
			set.Write(" AND number <= ").Int(a.UpTo).Write(" AND created_at < ").Time(a.CreatedBefore)
			if len(a.Present) > 0 {
				set.Write(" AND number NOT IN (").Ints(a.Present...).Write(")")
			}
		} else {
			set.Write(" AND kind <> ").Blob([]byte(document.KindEvent))
		}
		if _, err := set.Exec(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

const (
	// compactShare is how many of an account's payload chunks there may be for
	// each document received before looking for replaced ones is worth its
	// while: the look costs a scan of the account's documents.
	compactShare = 20
	// maxDeletes bounds how many chunks one statement removes.
	maxDeletes = 1000
)

// Compact removes chunks that hold no document's payload any more. They are
// looked for without locks: a chunk and the documents that point to it become
// visible together, and nothing ever points to an older chunk, so that one
// without readers stays so.
func (s *Store) Compact(ctx context.Context, tx *sql.Tx, account, received int64) error {
	chunks := int64(0)
	err := mysqldb.Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&chunks) },
		"SELECT COUNT(*) FROM chunk WHERE account_id = ?", account)
	if err != nil || received*compactShare < chunks {
		return err
	}
	var ids []int64
	err = mysqldb.Query(ctx, tx, func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT id FROM chunk WHERE account_id = ? AND id NOT IN (SELECT chunk FROM document WHERE account_id = ?) ORDER BY id`, account, account)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ids, maxDeletes) {
		var remove mysqldb.Statement
		remove.Write("DELETE FROM chunk WHERE id IN (").Ints(part...).Write(")")
		if _, err := remove.Exec(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// Get implements document.Reader.
func (s *Store) Get(ctx context.Context, key document.Key) (document.Document, bool, error) {
	var doc document.Document
	var chunk []byte
	var at place
	found := false
	var find mysqldb.Statement
	find.Write("SELECT " + columns + ", c.data FROM document d LEFT JOIN chunk c ON c.id = d.chunk WHERE d.account_id = ").Int(key.Account)
	find.Write(" AND d.kind = ").Blob(keyOf(string(key.Kind), kindWidth)).Write(" AND d.name = ").Blob(keyOf(key.Name, nameWidth))
	err := s.db.Run(ctx, &find, func(r *sql.Rows) (err error) {
		found = true
		doc, at, err = scan(r, &chunk)
		return err
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

// Count implements document.Reader.
func (s *Store) Count(ctx context.Context, account int64) (map[document.Kind]int64, error) {
	out := map[document.Kind]int64{}
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var kind, rest string
		var n int64
		err := r.Scan(&kind, &rest, &n)
		out[document.Kind(whole(kind, rest, kindWidth))] = n
		return err
	}, "SELECT kind, MIN(kind_rest), COUNT(*) FROM document WHERE account_id = ? GROUP BY kind", account)
	return out, err
}
