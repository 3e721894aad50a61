package relational

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

// The widths of the two columns of a document's key.
const (
	kindWidth = 256
	nameWidth = 1024
)

// keyOf is how a kind or a name is stored in a key. One that does not fit is
// cut and ends with its hash; only such a one has the full width.
func keyOf(text string, width int) []byte {
	if len(text) < width {
		return []byte(text)
	}
	sum := sha256.Sum256([]byte(text))
	return append([]byte(text[:width-len(sum)]), sum[:]...)
}

// restOf is the part of a text that its key does not hold.
func restOf(text string, width int) []byte {
	if len(text) < width {
		return nil
	}
	return []byte(text[width-sha256.Size:])
}

// whole is the text of a key and its rest.
func whole(key, rest string, width int) string {
	if len(key) < width {
		return key
	}
	return key[:width-sha256.Size] + rest
}

var insertChunk = &Insert{Head: "INSERT INTO chunk (id, account_id, data)"}

func chunkRow(id, account int64, data []byte) Row {
	var row Row
	row.Write("(").Ints(id, account).Write(",").Blob(data).Write(")")
	row.Key = string(binary.BigEndian.AppendUint64(nil, uint64(id)))
	return row
}

// insertSighting notes when repositories were seen.
var insertSighting = &Insert{
	Head:   "INSERT INTO repository_presence (account_id, repository, seen_at)",
	Upsert: Upsert{Key: "account_id, repository", Set: "seen_at = GREATEST(repository_presence.seen_at, excluded.seen_at)"},
}

func sightingRow(s document.Sighting) Row {
	var row Row
	row.Write("(").Ints(s.Account, s.Repository, Micros(s.At)).Write(")")
	key := binary.BigEndian.AppendUint64(nil, uint64(s.Account))
	row.Key = string(binary.BigEndian.AppendUint64(key, uint64(s.Repository)))
	return row
}

// What a document's row usually takes.
const documentRowBytes, documentRowTexts = 192, 8

func (s *Documents) documentRow(d *document.Document, at tables.Place, content int64) Row {
	var row Row
	kind, name := keyOf(string(d.Kind), kindWidth), keyOf(d.Name, nameWidth)
	row.Grow(documentRowBytes, documentRowTexts)
	row.Write("(").Int(d.Account).Write(",").Blob(kind).Write(",").Blob(name)
	row.Write(",").Blob(restOf(string(d.Kind), kindWidth)).Write(",").Blob(restOf(d.Name, nameWidth)).Write(",")
	row.Ints(Micros(d.Version), d.Repository, d.Number, d.Stars, d.Additions, d.Deletions,
		Micros(d.CreatedAt), Micros(d.UpdatedAt), Micros(d.ClosedAt), Micros(d.MergedAt),
		tables.Flags(&d.Fields), at.Chunk, int64(at.Start), int64(at.Size), content)
	row.Write(",").Text(d.State).Write(",").Text(d.Title).Write(",").Text(d.Author).Write(",").Text(d.Language)
	row.Write(",").Text(d.ClosedBy).Write(",").Time(d.SeenAt)
	s.columns.writeOwn(&row, d)
	row.Write(")")
	key := binary.BigEndian.AppendUint64(nil, uint64(d.Account))
	key = append(append(append(key, kind...), 0), name...)
	row.Key = string(key)
	return row
}

// documentsFrom is where documents are read from, in the order of their keys: each
// with the absence of its repository, if that holds.
const documentsFrom = `document d /*! FORCE INDEX (PRIMARY) */ LEFT JOIN repository_presence p ON p.account_id = d.account_id
	AND p.repository = d.repository AND p.gone_why <> '' AND p.seen_at <= p.gone_last`

// scanDocument reads what the columns list, and what follows into more.
func (s *Documents) scanDocument(r *sql.Rows, columns *readColumns, more ...any) (document.Document, tables.Place, error) {
	var d document.Document
	var kind, name, kindRest, nameRest, goneWhy, homeGoneWhy string
	var version, created, updated, closed, merged, bits, seen, goneAt, goneLast, homeGoneAt, homeGoneLast, content int64
	var at tables.Place
	values, own := columns.targets()
	err := r.Scan(append(append([]any{
		&d.Account, &kind, &name, &kindRest, &nameRest, &version, &d.Repository, &d.Number, &d.Stars, &d.Additions,
		&d.Deletions, &created, &updated, &closed, &merged, &bits, &at.Chunk, &at.Start, &at.Size, &content,
		&d.State, &d.Title, &d.Author, &d.Language, &d.ClosedBy, &seen, &goneWhy, &goneAt, &goneLast, &homeGoneWhy, &homeGoneAt, &homeGoneLast,
	}, own...), more...)...)
	d.Kind, d.Name = document.Kind(whole(kind, kindRest, kindWidth)), whole(name, nameRest, nameWidth)
	d.Version, d.CreatedAt, d.UpdatedAt = Time(version), Time(created), Time(updated)
	d.ClosedAt, d.MergedAt = Time(closed), Time(merged)
	d.SeenAt = Time(seen)
	tables.SetFlags(&d.Fields, bits)
	columns.readOwn(values, &d)
	s.kinds.SetGone(&d, tables.Mark(goneWhy, goneAt, goneLast), tables.Mark(homeGoneWhy, homeGoneAt, homeGoneLast))
	return d, at, err
}
