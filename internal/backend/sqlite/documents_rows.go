package sqlite

import (
	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

// documentsFrom is where documents are read from: each with the absence of its
// repository, if that holds.
const documentsFrom = `document d LEFT JOIN repository_presence p ON p.account_id = d.account_id AND p.repository = d.repository
	AND p.gone_why <> '' AND p.seen_at <= p.gone_last`

// packedDocuments are documents on their way into a transaction.
type packedDocuments struct {
	docs      []document.Document
	sightings []document.Sighting
	starts    []int
	chunk     []byte
}

// write stores them with their chunk.
func (s *Documents) write(c *driver.Conn, p *packedDocuments) error {
	chunk, err := number(c, "INSERT INTO chunk (account_id, data) VALUES (?, ?) RETURNING id", p.docs[0].Account, p.chunk)
	if err != nil {
		return err
	}
	bind := func(stmt *driver.Stmt, base, i int) {
		bindDocument(stmt, base, &p.docs[i], tables.Place{Chunk: chunk, Start: p.starts[i], Size: len(p.docs[i].Raw)})
		s.columns.bindOwn(stmt, base+len(fieldColumns), &p.docs[i])
	}
	err = s.columns.insert.Run(c, len(p.docs), bind, func(from, to, changed int) error {
		if changed == to-from {
			return nil
		}
		return markSeen(c, p.docs[from:to])
	})
	if err != nil {
		return err
	}
	return insertSighting.Run(c, len(p.sightings), func(stmt *driver.Stmt, base, i int) {
		stmt.BindInt64(base, p.sightings[i].Account)
		stmt.BindInt64(base+1, p.sightings[i].Repository)
		stmt.BindInt64(base+2, toMicros(p.sightings[i].At))
	}, nil)
}

// markSeen notes that documents were seen, of which some are older copies: also
// those prove that what they are of is there.
func markSeen(c *driver.Conn, docs []document.Document) error {
	for i := range docs {
		d := &docs[i]
		err := Exec(c, "UPDATE document SET seen_at = ?1 WHERE account_id = ? AND kind = ? AND name = ? AND seen_at < ?1", nil,
			d.SeenAt, d.Account, string(d.Kind), d.Name)
		if err != nil {
			return err
		}
	}
	return nil
}

var insertSighting = NewInsert("INSERT INTO repository_presence (account_id, repository, seen_at)",
	"ON CONFLICT (account_id, repository) DO UPDATE SET seen_at = excluded.seen_at WHERE excluded.seen_at > repository_presence.seen_at", 3)

// bindDocument binds fieldColumns.
func bindDocument(s *driver.Stmt, base int, d *document.Document, at tables.Place) {
	s.BindInt64(base, d.Account)
	s.BindText(base+1, string(d.Kind))
	s.BindText(base+2, d.Name)
	s.BindInt64(base+3, toMicros(d.Version))
	s.BindInt64(base+4, d.Repository)
	s.BindInt64(base+5, d.Number)
	s.BindText(base+6, d.State)
	s.BindText(base+7, d.Title)
	s.BindText(base+8, d.Author)
	s.BindText(base+9, d.Language)
	s.BindInt64(base+10, d.Stars)
	s.BindInt64(base+11, d.Additions)
	s.BindInt64(base+12, d.Deletions)
	s.BindInt64(base+13, toMicros(d.CreatedAt))
	s.BindInt64(base+14, toMicros(d.UpdatedAt))
	s.BindInt64(base+15, toMicros(d.ClosedAt))
	s.BindInt64(base+16, toMicros(d.MergedAt))
	s.BindText(base+17, d.ClosedBy)
	s.BindInt64(base+18, tables.Flags(&d.Fields))
	s.BindInt64(base+19, toMicros(d.SeenAt))
	s.BindInt64(base+20, at.Chunk)
	s.BindInt64(base+21, int64(at.Start))
	s.BindInt64(base+22, int64(at.Size))
}

// scanDocument reads what the columns list.
func (s *Documents) scanDocument(r *driver.Stmt, columns *readColumns) (document.Document, tables.Place) {
	d := document.Document{
		Key:     document.Key{Account: r.ColumnInt64(0), Kind: document.Kind(r.ColumnText(1)), Name: r.ColumnText(2)},
		Version: fromMicros(r.ColumnInt64(3)),
		SeenAt:  fromMicros(r.ColumnInt64(19)),
		Fields: document.Fields{
			Repository: r.ColumnInt64(4), Number: r.ColumnInt64(5), State: r.ColumnText(6), Title: r.ColumnText(7),
			Author: r.ColumnText(8), Language: r.ColumnText(9), Stars: r.ColumnInt64(10),
			Additions: r.ColumnInt64(11), Deletions: r.ColumnInt64(12),
			CreatedAt: fromMicros(r.ColumnInt64(13)), UpdatedAt: fromMicros(r.ColumnInt64(14)),
			ClosedAt: fromMicros(r.ColumnInt64(15)), MergedAt: fromMicros(r.ColumnInt64(16)), ClosedBy: r.ColumnText(17),
		},
	}
	tables.SetFlags(&d.Fields, r.ColumnInt64(18))
	columns.readOwn(r, &d)
	s.kinds.SetGone(&d, scanMark(r, 23), scanMark(r, 26))
	return d, tables.Place{Chunk: r.ColumnInt64(20), Start: r.ColumnInt(21), Size: r.ColumnInt(22)}
}

// scanMark reads an absence from three columns.
func scanMark(r *driver.Stmt, first int) document.Mark {
	return tables.Mark(r.ColumnText(first), r.ColumnInt64(first+1), r.ColumnInt64(first+2))
}
