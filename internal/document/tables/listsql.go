package tables

import (
	"strings"
	"time"

	"sluice/internal/document"
)

// SQL is a statement in pieces. The text of it is the same for every server; how a
// value is passed is the store's.
type SQL struct{ Parts []Part }

// Part is a piece of text, or a value if it has one:
//
//   - int64, a number, and string, a text;
//   - document.Kind and Name, the two parts of a key;
//   - Index, which follows a table and says which of its indexes to go along;
//   - Author and Contains, conditions.
type Part struct {
	Text  string
	Value any
}

// Name is a document's name.
type Name string

// Index names an index of the table document; PrimaryKey is that of its key.
type Index string

// Contains is true of rows whose column holds a text somewhere.
type Contains struct{ Column, Text string }

// Author is true of rows of an author as IndexAuthor has it: the first AuthorWidth
// characters, and the letters A to Z in lower case.
type Author string

// Key is what the index has of the author.
func (a Author) Key() string {
	key := []rune(string(a))
	for i, r := range key {
		if r >= 'A' && r <= 'Z' {
			key[i] = r + 'a' - 'A'
		}
	}
	return string(key[:min(len(key), AuthorWidth)])
}

// AuthorWidth is how much of an author that index has.
const AuthorWidth = 100

// The indexes that lists go along.
const (
	PrimaryKey          Index = ""
	IndexCreated        Index = "document_created"         // kind, created_at, account_id, name
	IndexUpdated        Index = "document_updated"         // kind, updated_at, account_id, name; of what was updated
	IndexAccountCreated Index = "document_account_created" // account_id, kind, created_at, name
	IndexAccountUpdated Index = "document_account_updated" // account_id, kind, updated_at, name; of what was updated
	IndexRepository     Index = "document_repository"      // repository, kind, created_at, account_id, name
	IndexAuthor         Index = "document_author"          // kind, author, created_at, account_id, name; of what has an author
	IndexGone           Index = "document_gone"            // kind, account_id, name; of what was said to be gone
)

const (
	columnCreated = "d.created_at"
	columnUpdated = "d.updated_at"
)

func (q *SQL) write(text string) *SQL {
	q.Parts = append(q.Parts, Part{Text: text})
	return q
}

func (q *SQL) value(v any) *SQL {
	q.Parts = append(q.Parts, Part{Value: v})
	return q
}

// and adds a condition on a value.
func (q *SQL) and(comparison string, v any) *SQL {
	return q.write(" AND " + comparison + " ").value(v)
}

// path is a range of an index: what its entries have in common, and what they are
// ordered by.
type path struct {
	index Index
	// account and repository are those of all entries; 0 if they have several.
	account, repository int64
	// author is that of all entries; "" if they have several.
	author string
	// by is the column that comes before accounts and names; "" if there is none.
	by string
}

// entries selects what a path has behind a place, in its order: keys, instants of the
// sort, and whether the rest of the selection holds.
func (p *path) entries(s *document.Selection, kinds document.Kinds, after *document.Cursor, limit int) *SQL {
	var q SQL
	q.write("SELECT d.account_id, d.name, " + sortColumn(s.Sort) + ", ")
	rest := p.rest(s, kinds)
	if len(rest.Parts) == 0 {
		q.write("1")
	} else {
		q.write("CASE WHEN 1 = 1")
		q.Parts = append(q.Parts, rest.Parts...)
		q.write(" THEN 1 ELSE 0 END")
	}
	q.write(" FROM document d").value(p.index)
	if s.Deleted != nil {
		q.write(` LEFT JOIN repository_presence p ON p.account_id = d.account_id AND p.repository = d.repository
			AND p.gone_why <> '' AND p.seen_at <= p.gone_last`)
	}
	p.bounds(&q, s)
	if after != nil {
		p.behind(&q, after, s.Descending)
	}
	direction := ""
	if s.Descending {
		direction = " DESC"
	}
	q.write(" ORDER BY " + strings.Join(p.order(), direction+", ") + direction + " LIMIT ").value(int64(limit))
	return &q
}

// count counts what a path has, up to a limit.
func (p *path) count(s *document.Selection, limit int64) *SQL {
	var q SQL
	q.write("SELECT COUNT(*), 0 FROM (SELECT d.account_id FROM document d").value(p.index)
	p.bounds(&q, s)
	return q.write(" LIMIT ").value(limit).write(") AS few")
}

func sortColumn(by document.Sort) string {
	switch by {
	case document.SortCreated:
		return columnCreated
	case document.SortUpdated:
		return columnUpdated
	}
	return "0"
}

// order are the columns that a path is ordered by.
func (p *path) order() []string {
	var columns []string
	if p.by != "" {
		columns = append(columns, p.by)
	}
	if p.account == 0 {
		columns = append(columns, "d.account_id")
	}
	return append(columns, "d.name")
}

// bounds are the conditions that the index answers.
func (p *path) bounds(q *SQL, s *document.Selection) {
	q.write(" WHERE d.kind = ").value(s.Kind)
	if p.account != 0 {
		q.and("d.account_id =", p.account)
	}
	if p.repository != 0 {
		q.and("d.repository =", p.repository)
	}
	if p.author != "" {
		q.write(" AND d.author <> '' AND ").value(Author(p.author))
	}
	switch p.index {
	case IndexUpdated, IndexAccountUpdated:
		q.write(" AND d.updated_at > 0")
	case IndexGone:
		q.write(" AND d.gone_why <> ''")
	}
	switch p.by {
	case columnCreated:
		during(q, columnCreated, s.CreatedFrom, s.CreatedUntil)
	case columnUpdated:
		during(q, columnUpdated, s.UpdatedFrom, s.UpdatedUntil)
	}
}

func during(q *SQL, column string, from, until time.Time) {
	if !from.IsZero() {
		q.and(column+" >=", from.UnixMicro())
	}
	if !until.IsZero() {
		q.and(column+" <", until.UnixMicro())
	}
}

// behind restricts entries to those behind a place. It is said twice, as some servers
// look up a comparison of whole rows in an index, and others what is spelt out.
func (p *path) behind(q *SQL, after *document.Cursor, descending bool) {
	beyond := ">"
	if descending {
		beyond = "<"
	}
	columns := p.order()
	var values []any
	if p.by != "" {
		values = append(values, micros(after.At))
	}
	if p.account == 0 {
		values = append(values, after.Account)
	}
	values = append(values, Name(after.Name))
	if len(columns) == 1 {
		q.and(columns[0]+" "+beyond, values[0])
		return
	}
	q.write(" AND (" + strings.Join(columns, ", ") + ") " + beyond + " (").value(values[0])
	for _, v := range values[1:] {
		q.write(", ").value(v)
	}
	q.write(")").and(columns[0]+" "+beyond+"=", values[0]).write(" AND (")
	for last := range columns {
		if last > 0 {
			q.write(" OR ")
		}
		q.write("(" + columns[0] + " " + equalUnless(last == 0, beyond) + " ").value(values[0])
		for i := 1; i <= last; i++ {
			q.and(columns[i]+" "+equalUnless(i == last, beyond), values[i])
		}
		q.write(")")
	}
	q.write(")")
}

func equalUnless(last bool, beyond string) string {
	if last {
		return beyond
	}
	return "="
}

// rest are the conditions of a selection that a path does not answer.
func (p *path) rest(s *document.Selection, kinds document.Kinds) *SQL {
	var q SQL
	if s.Account != 0 && p.account == 0 {
		q.and("d.account_id =", s.Account)
	}
	if s.Repository != 0 && p.repository == 0 {
		q.and("d.repository =", s.Repository)
	}
	if s.Author != "" && (p.author == "" || len(s.Author) > AuthorWidth) {
		q.and("LOWER(d.author) = LOWER(", s.Author).write(")")
	}
	if s.State != "" {
		q.and("d.state =", s.State)
	}
	if p.by != columnCreated {
		during(&q, columnCreated, s.CreatedFrom, s.CreatedUntil)
	}
	if p.by != columnUpdated {
		during(&q, columnUpdated, s.UpdatedFrom, s.UpdatedUntil)
		if s.Sort == document.SortUpdated {
			q.write(" AND d.updated_at > 0")
		}
	}
	labelled(&q, s, kinds)
	if s.Deleted != nil {
		gone(&q, *s.Deleted, kinds.Independent(s.Kind))
	}
	return &q
}

func labelled(q *SQL, s *document.Selection, kinds document.Kinds) {
	if s.Label == "" {
		return
	}
	column := kinds.LabelsOf(s.Kind)
	if column == "" {
		q.write(" AND 1 = 0")
		return
	}
	list := document.List(s.Label).Text
	q.write(" AND ").value(Contains{Column: "d.own_" + column, Text: strings.TrimSuffix(strings.TrimPrefix(list, "["), "]")})
}

// gone is what document.Kinds.SetGone says, in SQL.
func gone(q *SQL, want, independent bool) {
	q.write(" AND ")
	if !want {
		q.write("NOT ")
	}
	q.write("((d.gone_why <> '' AND d.seen_at <= d.gone_last)")
	if !independent {
		q.write(" OR p.account_id IS NOT NULL")
	}
	q.write(")")
}
