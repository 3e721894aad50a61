package sqlite

import (
	"zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
)

// columns are read by scan in this order.
const columns = `d.account_id, d.kind, d.name, d.version, d.repository, d.number, d.state, d.title, d.author, d.language,
	d.stars, d.additions, d.deletions, d.created_at, d.updated_at, d.closed_at, d.merged_at, d.closed_by, d.flags`

const columnCount = 19

// The bits of the flags column.
const (
	flagFork = 1 << iota
	flagPrivate
	flagExternal
	flagDeleted
	flagTruncated
	flagMeasured
)

func checkKey(k document.Key) error {
	if k.Account == 0 || k.Kind == "" || k.Name == "" {
		return domain.Errorf(domain.CodeInvalid, "a document needs an account, a kind and a name; got %+v", k)
	}
	return nil
}

// packed are documents on their way into a transaction.
type packed struct {
	docs   []document.Document
	starts []int
	chunk  []byte
}

func (p *packed) write(c *sqlite.Conn) error {
	chunk := int64(0)
	err := sqlitedb.Exec(c, "INSERT INTO chunk (account_id, data) VALUES (?, ?) RETURNING id",
		func(r *sqlite.Stmt) { chunk = r.ColumnInt64(0) }, p.docs[0].Account, p.chunk)
	if err != nil {
		return err
	}
	bind := func(stmt *sqlite.Stmt, base, i int) {
		bindDocument(stmt, base, &p.docs[i])
		stmt.BindInt64(base+columnCount, chunk)
		stmt.BindInt64(base+columnCount+1, int64(p.starts[i]))
		stmt.BindInt64(base+columnCount+2, int64(len(p.docs[i].Raw)))
	}
	return insertDocument.Run(c, len(p.docs), bind, nil)
}

const insertHead = `INSERT INTO document (account_id, kind, name, version, repository, number, state, title, author, language,
	stars, additions, deletions, created_at, updated_at, closed_at, merged_at, closed_by, flags, chunk, chunk_start, chunk_size)`

// Of two copies the newer wins; of two of the same version the later arrival.
const insertTail = `ON CONFLICT (account_id, kind, name) DO UPDATE SET version = excluded.version,
	repository = excluded.repository, number = excluded.number, state = excluded.state, title = excluded.title,
	author = excluded.author, language = excluded.language, stars = excluded.stars, additions = excluded.additions,
	deletions = excluded.deletions, created_at = excluded.created_at, updated_at = excluded.updated_at,
	closed_at = excluded.closed_at, merged_at = excluded.merged_at, closed_by = excluded.closed_by, flags = excluded.flags,
	chunk = excluded.chunk, chunk_start = excluded.chunk_start, chunk_size = excluded.chunk_size
	WHERE excluded.version >= document.version`

var insertDocument = sqlitedb.NewInsert(insertHead, insertTail, columnCount+3)

func bindDocument(s *sqlite.Stmt, base int, d *document.Document) {
	s.BindInt64(base, d.Account)
	s.BindText(base+1, string(d.Kind))
	s.BindText(base+2, d.Name)
	s.BindInt64(base+3, sqlitedb.Micros(d.Version))
	s.BindInt64(base+4, d.Repository)
	s.BindInt64(base+5, d.Number)
	s.BindText(base+6, d.State)
	s.BindText(base+7, d.Title)
	s.BindText(base+8, d.Author)
	s.BindText(base+9, d.Language)
	s.BindInt64(base+10, d.Stars)
	s.BindInt64(base+11, d.Additions)
	s.BindInt64(base+12, d.Deletions)
	s.BindInt64(base+13, sqlitedb.Micros(d.CreatedAt))
	s.BindInt64(base+14, sqlitedb.Micros(d.UpdatedAt))
	s.BindInt64(base+15, sqlitedb.Micros(d.ClosedAt))
	s.BindInt64(base+16, sqlitedb.Micros(d.MergedAt))
	s.BindText(base+17, d.ClosedBy)
	s.BindInt64(base+18, flags(&d.Fields))
}

func flags(f *document.Fields) int64 {
	n := int64(0)
	set := func(bit int64, on bool) {
		if on {
			n |= bit
		}
	}
	set(flagFork, f.Fork)
	set(flagPrivate, f.Private)
	set(flagExternal, f.External)
	set(flagDeleted, f.Deleted)
	set(flagTruncated, f.Truncated)
	set(flagMeasured, f.Measured)
	return n
}

func scan(r *sqlite.Stmt) document.Document {
	bits := r.ColumnInt64(18)
	return document.Document{
		Key:     document.Key{Account: r.ColumnInt64(0), Kind: document.Kind(r.ColumnText(1)), Name: r.ColumnText(2)},
		Version: sqlitedb.Time(r.ColumnInt64(3)),
		Fields: document.Fields{
			Repository: r.ColumnInt64(4), Number: r.ColumnInt64(5), State: r.ColumnText(6), Title: r.ColumnText(7),
			Author: r.ColumnText(8), Language: r.ColumnText(9), Stars: r.ColumnInt64(10),
			Additions: r.ColumnInt64(11), Deletions: r.ColumnInt64(12),
			CreatedAt: sqlitedb.Time(r.ColumnInt64(13)), UpdatedAt: sqlitedb.Time(r.ColumnInt64(14)),
			ClosedAt: sqlitedb.Time(r.ColumnInt64(15)), MergedAt: sqlitedb.Time(r.ColumnInt64(16)), ClosedBy: r.ColumnText(17),
			Fork: bits&flagFork != 0, Private: bits&flagPrivate != 0, External: bits&flagExternal != 0,
			Deleted: bits&flagDeleted != 0, Truncated: bits&flagTruncated != 0, Measured: bits&flagMeasured != 0,
		},
	}
}
