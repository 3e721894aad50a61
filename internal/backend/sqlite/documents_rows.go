package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

// documentsFrom is where documents are read from: each with the absence of its
// repository, if that holds.
const documentsFrom = `document d LEFT JOIN repository_presence p ON p.account_id = d.account_id AND p.repository = d.repository
	AND p.gone_why <> '' AND p.seen_at <= p.gone_last`

// packedDocuments are the documents from and up to but without to of those that
// came together, on their way into a transaction with one chunk.
type packedDocuments struct {
	from, to int
	starts   []int
	chunk    []byte
}

// store writes documents with their chunks.
func (s *Documents) store(_ context.Context, c *driver.Conn, chosen []tables.Chosen[[]packedDocuments]) error {
	for i := range chosen {
		in := &chosen[i]
		slices.Sort(in.New)
		slices.Sort(in.Known)
		for k := range in.Packed {
			if err := s.write(c, in, &in.Packed[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// write stores those that are chosen of what shares a chunk.
func (s *Documents) write(c *driver.Conn, in *tables.Chosen[[]packedDocuments], p *packedDocuments) error {
	created, known := p.among(in.New), p.among(in.Known)
	if len(created)+len(known) == 0 {
		return nil
	}
	chunk, err := number(c, "INSERT INTO chunk (account_id, data) VALUES (?, ?) RETURNING id", in.Docs[p.from].Account, p.chunk)
	if err != nil {
		return err
	}
	bind := func(columns *kindColumns, stmt *driver.Stmt, base, place int) {
		d := &in.Docs[place]
		bindDocument(stmt, base, d, tables.Place{Chunk: chunk, Start: p.starts[place-p.from], Size: len(d.Raw)}, in.Held[place].Content)
		columns.bindOwn(stmt, base+len(fieldColumns), d)
	}
	for kind, places := range byKind(in.Docs, created) {
		columns := s.columns.of(kind)
		err := columns.create.Run(c, len(places), func(stmt *driver.Stmt, base, i int) { bind(columns, stmt, base, places[i]) }, nil)
		if err != nil {
			return err
		}
	}
	for _, place := range known {
		columns := s.columns.of(in.Docs[place].Kind)
		stmt, err := c.Prepare(columns.upsert)
		if err != nil {
			return fmt.Errorf("prepare an upsert: %w", err)
		}
		bind(columns, stmt, 1, place)
		if err := drain(stmt, nil); err != nil {
			return err
		}
	}
	return nil
}

// among are those of sorted places that share the chunk.
func (p *packedDocuments) among(places []int) []int {
	from, _ := slices.BinarySearch(places, p.from)
	to, _ := slices.BinarySearch(places, p.to)
	return places[from:to]
}

// byKind passes the places of documents of each kind.
func byKind(docs []document.Document, places []int) iter.Seq2[document.Kind, []int] {
	return func(yield func(document.Kind, []int) bool) {
		places := slices.Clone(places)
		slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(docs[a].Kind, docs[b].Kind) })
		for len(places) > 0 {
			kind, n := docs[places[0]].Kind, 1
			for n < len(places) && docs[places[n]].Kind == kind {
				n++
			}
			if !yield(kind, places[:n]) {
				return
			}
			places = places[n:]
		}
	}
}

// markSeen notes that documents were seen, be it as older copies: also those prove
// that what they are of is there.
func markSeen(_ context.Context, c *driver.Conn, seen []tables.Seen) error {
	for i := range seen {
		d := &seen[i]
		err := Exec(c, "UPDATE document SET seen_at = ?1 WHERE account_id = ? AND kind = ? AND name = ? AND seen_at < ?1", nil,
			d.At, d.Account, string(d.Kind), d.Name)
		if err != nil {
			return err
		}
	}
	return nil
}

func sight(_ context.Context, c *driver.Conn, sightings []document.Sighting) error {
	return insertSighting.Run(c, len(sightings), func(stmt *driver.Stmt, base, i int) {
		stmt.BindInt64(base, sightings[i].Account)
		stmt.BindInt64(base+1, sightings[i].Repository)
		stmt.BindInt64(base+2, toMicros(sightings[i].At))
	}, nil)
}

var insertSighting = NewInsert("INSERT INTO repository_presence (account_id, repository, seen_at)",
	"ON CONFLICT (account_id, repository) DO UPDATE SET seen_at = excluded.seen_at WHERE excluded.seen_at > repository_presence.seen_at", 3)

// bindDocument binds fieldColumns.
func bindDocument(s *driver.Stmt, base int, d *document.Document, at tables.Place, content int64) {
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
	s.BindInt64(base+23, content)
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
	s.kinds.SetGone(&d, scanMark(r, len(fieldColumns)), scanMark(r, len(fieldColumns)+absenceWidth/2))
	return d, tables.Place{Chunk: r.ColumnInt64(20), Start: r.ColumnInt(21), Size: r.ColumnInt(22)}
}

// scanMark reads an absence from three columns.
func scanMark(r *driver.Stmt, first int) document.Mark {
	return tables.Mark(r.ColumnText(first), r.ColumnInt64(first+1), r.ColumnInt64(first+2))
}
