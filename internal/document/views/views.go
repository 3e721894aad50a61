// Package views makes the SQL of the views that people read collected data by:
// one for each table that sources declare, and one of the accounts.
//
//   - views.go: which views there are, and what they show.
//   - columns.go: what a column of a declaration is in SQL.
//   - dialects.go: what SQLite, MySQL and PostgreSQL write differently.
//
// Everything follows from document.Column: a row of a view shows what Column.Value
// says of the same document, which is what exports write. Nothing here touches a
// database.
package views

import (
	"strings"

	"sluice/internal/document"
)

// View is one view.
type View struct {
	// Name is what it is called, and Doc says in one line what it shows.
	Name, Doc string
	Columns   []document.Column
	// Query is what it stands for.
	Query string
}

// Prefix is put in front of a name that something else has in the database: a
// table of ours, such as statistics, or somebody's own view.
const Prefix = "collected_"

// AccountsName is the view of the accounts.
const AccountsName = "accounts"

// Of returns the views of declared kinds, in the order of their declaration, and
// that of the accounts at the end; taken says which names something else has.
// A kind without columns has none.
func Of(kinds document.Kinds, in *Dialect, taken func(name string) bool) []View {
	name := func(plural string) string {
		if taken(plural) {
			return Prefix + plural
		}
		return plural
	}
	var all []View
	for i := range kinds {
		k := &kinds[i]
		if len(k.Columns) == 0 || len(k.Kind) > longestKind {
			continue
		}
		all = append(all, View{Name: name(k.Plural), Doc: k.Doc, Columns: k.Columns, Query: query(kinds, k, in)})
	}
	return append(all, View{Name: name(AccountsName), Doc: "what is collected for whom", Columns: accountColumns(), Query: accounts(in)})
}

// longestKind is how long a kind may be to be found by its key in every database.
const longestKind = 255

// Create is the statement that makes a view; begin is "CREATE VIEW", or how else a
// database begins it.
func (v *View) Create(begin string, in *Dialect) string {
	return begin + " " + in.Quote(v.Name) + " AS " + Mark + "\n" + v.Query
}

// Mark is how a view that was made here is known where a database keeps its text
// as it was written.
const Mark = "/* made by sluice from its declarations */"

// query is what a view of a kind stands for.
func query(kinds document.Kinds, k *document.Declaration, in *Dialect) string {
	t := table{kinds: kinds, kind: k, in: in}
	list := make([]string, len(k.Columns))
	for i := range k.Columns {
		list[i] = t.column(&k.Columns[i]) + " AS " + in.Quote(k.Columns[i].Name)
	}
	return "SELECT " + strings.Join(list, ",\n  ") + "\n" + t.from()
}

func accountColumns() []document.Column {
	return []document.Column{
		{Name: "id", Type: document.TypeInteger, Doc: "what names it here"},
		{Name: "login", Type: document.TypeText, Doc: "its login"},
		{Name: "source", Type: document.TypeText, Doc: "where it is collected"},
		{Name: "state", Type: document.TypeText, Doc: "active, paused or deleted"},
		{Name: "reason", Type: document.TypeText, Nullable: true, Doc: "why it is paused"},
		{Name: "created_at", Type: document.TypeInstant, Nullable: true, Doc: "when it was added"},
		{Name: "updated_at", Type: document.TypeInstant, Nullable: true, Doc: "when it was changed last"},
	}
}

// accounts shows nothing of credentials; what is left of a purged account is not
// shown at all.
func accounts(in *Dialect) string {
	micros := func(column string) string { return "CASE WHEN " + column + " <> 0 THEN " + in.instant(column) + " END" }
	list := []string{"a.id AS " + in.Quote("id"), "a.login AS " + in.Quote("login"), "a.source AS " + in.Quote("source"), "a.state AS " + in.Quote("state"),
		in.unlessEmpty("a.reason") + " AS " + in.Quote("reason"),
		micros("a.created_at") + " AS " + in.Quote("created_at"), micros("a.updated_at") + " AS " + in.Quote("updated_at")}
	return "SELECT " + strings.Join(list, ",\n  ") + "\nFROM account a WHERE a.state <> 'purged'"
}
