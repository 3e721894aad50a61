package mysql

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/mysqldb"
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

func checkKey(k document.Key) error {
	if k.Account == 0 || k.Kind == "" || k.Name == "" {
		return domain.Errorf(domain.CodeInvalid, "a document needs an account, a kind and a name; got %+v", k)
	}
	return nil
}

// The bits of the flags column.
const (
	flagFork = 1 << iota
	flagPrivate
	flagExternal
	flagDeleted
	flagTruncated
	flagMeasured
)

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

var insertChunk = &mysqldb.Insert{Head: "INSERT INTO chunk (id, account_id, data)"}

func chunkRow(id, account int64, data []byte) mysqldb.Row {
	var row mysqldb.Row
	row.Write("(").Ints(id, account).Write(",").Blob(data).Write(")")
	row.Key = string(binary.BigEndian.AppendUint64(nil, uint64(id)))
	return row
}

// insertDocument: of two copies the newer wins; of two of the same version the
// later arrival. Assignments are made from left to right, so that the version,
// by which the others are decided, is the last.
var insertDocument = &mysqldb.Insert{
	Head: `INSERT INTO document (account_id, kind, name, kind_rest, name_rest, version, repository, number, stars, additions, deletions,
		created_at, updated_at, closed_at, merged_at, flags, chunk, chunk_start, chunk_size, state, title, author, language, closed_by)`,
	Tail: newerWins("repository", "number", "stars", "additions", "deletions", "created_at", "updated_at", "closed_at", "merged_at",
		"flags", "chunk", "chunk_start", "chunk_size", "state", "title", "author", "language", "closed_by"),
}

func newerWins(columns ...string) string {
	tail := "ON DUPLICATE KEY UPDATE "
	for _, c := range columns {
		tail += c + " = IF(VALUES(version) >= version, VALUES(" + c + "), " + c + "), "
	}
	return tail + "version = GREATEST(version, VALUES(version))"
}

// place is where a payload is: a part of a chunk.
type place struct {
	chunk       int64
	start, size int
}

// What a document's row usually takes.
const rowBytes, rowTexts = 192, 8

func documentRow(d *document.Document, at place) mysqldb.Row {
	var row mysqldb.Row
	kind, name := keyOf(string(d.Kind), kindWidth), keyOf(d.Name, nameWidth)
	row.Grow(rowBytes, rowTexts)
	row.Write("(").Int(d.Account).Write(",").Blob(kind).Write(",").Blob(name)
	row.Write(",").Blob(restOf(string(d.Kind), kindWidth)).Write(",").Blob(restOf(d.Name, nameWidth)).Write(",")
	row.Ints(mysqldb.Micros(d.Version), d.Repository, d.Number, d.Stars, d.Additions, d.Deletions,
		mysqldb.Micros(d.CreatedAt), mysqldb.Micros(d.UpdatedAt), mysqldb.Micros(d.ClosedAt), mysqldb.Micros(d.MergedAt),
		flags(&d.Fields), at.chunk, int64(at.start), int64(at.size))
	row.Write(",").Text(d.State).Write(",").Text(d.Title).Write(",").Text(d.Author).Write(",").Text(d.Language)
	row.Write(",").Text(d.ClosedBy).Write(")")
	key := binary.BigEndian.AppendUint64(nil, uint64(d.Account))
	key = append(append(append(key, kind...), 0), name...)
	row.Key = string(key)
	return row
}

// columns are read by scan in this order.
const columns = `d.account_id, d.kind, d.name, d.kind_rest, d.name_rest, d.version, d.repository, d.number, d.stars, d.additions,
	d.deletions, d.created_at, d.updated_at, d.closed_at, d.merged_at, d.flags, d.chunk, d.chunk_start, d.chunk_size,
	d.state, d.title, d.author, d.language, d.closed_by`

// scan reads columns, and what follows them into more.
func scan(r *sql.Rows, more ...any) (document.Document, place, error) {
	var d document.Document
	var kind, name, kindRest, nameRest string
	var version, created, updated, closed, merged, bits int64
	var at place
	err := r.Scan(append([]any{
		&d.Account, &kind, &name, &kindRest, &nameRest, &version, &d.Repository, &d.Number, &d.Stars, &d.Additions,
		&d.Deletions, &created, &updated, &closed, &merged, &bits, &at.chunk, &at.start, &at.size,
		&d.State, &d.Title, &d.Author, &d.Language, &d.ClosedBy,
	}, more...)...)
	d.Kind, d.Name = document.Kind(whole(kind, kindRest, kindWidth)), whole(name, nameRest, nameWidth)
	d.Version, d.CreatedAt, d.UpdatedAt = mysqldb.Time(version), mysqldb.Time(created), mysqldb.Time(updated)
	d.ClosedAt, d.MergedAt = mysqldb.Time(closed), mysqldb.Time(merged)
	d.Fork, d.Private, d.External = bits&flagFork != 0, bits&flagPrivate != 0, bits&flagExternal != 0
	d.Deleted, d.Truncated, d.Measured = bits&flagDeleted != 0, bits&flagTruncated != 0, bits&flagMeasured != 0
	return d, at, err
}

// cut returns one payload of a chunk.
func cut(plain []byte, p place) ([]byte, error) {
	if p.start < 0 || p.size < 0 || p.start+p.size > len(plain) {
		return nil, domain.Errorf(domain.CodeCorrupt, "a stored payload of %d bytes ends beyond its chunk of %d", p.size, len(plain))
	}
	return plain[p.start : p.start+p.size : p.start+p.size], nil
}
