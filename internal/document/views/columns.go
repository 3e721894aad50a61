package views

import (
	"slices"
	"strconv"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

// table is what a view of a kind is made from: d is a document, a its account, p the
// absence of its repository if that holds, and t0, t1, … its repository itself, in
// each kind of containers.
type table struct {
	kinds document.Kinds
	kind  *document.Declaration
	in    *Dialect
}

// from joins what the columns need, and no more.
func (t *table) from() string {
	sql := "FROM account a JOIN document d ON d.account_id = a.id AND d.kind = " + t.in.kind(string(t.kind.Kind))
	if !t.kind.Independent && t.shows(document.FromDeleted, document.FromGoneSince, document.FromGoneWhy, document.FromVisibleState) {
		sql += "\nLEFT JOIN repository_presence p ON p.account_id = d.account_id AND p.repository = d.repository" +
			" AND p.gone_why <> '' AND p.seen_at <= p.gone_last"
	}
	if t.shows(document.FromContainerTitle) {
		for i, kind := range t.containers() {
			c := container(i)
			sql += "\nLEFT JOIN document " + c + " ON " + c + ".account_id = d.account_id AND " + c + ".kind = " + t.in.kind(string(kind)) +
				" AND " + c + ".name = " + t.in.key("d.repository")
		}
	}
	return sql
}

// containers are what a thing of the kind can lie in. What a container is called
// is its Repository, in digits.
func (t *table) containers() []document.Kind { return t.kinds.OfSource(t.kind.Source).Containers() }

func container(i int) string { return "t" + strconv.Itoa(i) }

func (t *table) shows(origins ...document.Origin) bool {
	return slices.ContainsFunc(t.kind.Columns, func(c document.Column) bool { return slices.Contains(origins, c.From) })
}

// column is a column's expression, as Column.Value reads it from a document.
func (t *table) column(c *document.Column) string {
	if c.From == document.FromOwn {
		return t.own(c)
	}
	switch c.Type {
	case document.TypeInteger:
		return t.integer(c)
	case document.TypeBoolean:
		return t.boolean(c.From)
	case document.TypeInstant:
		micros := t.micros(c.From)
		return "CASE WHEN " + micros + " <> 0 THEN " + t.in.instant(micros) + " END"
	}
	text := t.text(c.From)
	if c.Nullable {
		return t.in.unlessEmpty(text)
	}
	return text
}

// own is a value that a source has set.
func (t *table) own(c *document.Column) string {
	name := "d." + tables.Own{*c}.Name(0)
	switch c.Type {
	case document.TypeBoolean:
		return name + " <> 0"
	case document.TypeInstant:
		return t.in.instant(name)
	}
	return name
}

func (t *table) text(from document.Origin) string {
	switch from {
	case document.FromName:
		return t.in.text("d.name", "d.name_rest")
	case document.FromNameEnd:
		return t.in.afterColon(t.in.text("d.name", "d.name_rest"))
	case document.FromAccount:
		return "a.login"
	case document.FromSource:
		return "a.source"
	case document.FromContainerTitle:
		// Of several that are called the same the last counts.
		title := "''"
		for i := range t.containers() {
			title = "COALESCE(" + container(i) + ".title, " + title + ")"
		}
		return title
	case document.FromVisibleState:
		return "CASE WHEN " + t.goneWhy() + " = '" + string(document.GoneBlocked) + "' THEN '" + string(document.GoneBlocked) + "' ELSE d.state END"
	case document.FromGoneWhy:
		return t.goneWhy()
	}
	return "d." + string(from)
}

func (t *table) integer(c *document.Column) string {
	switch {
	case c.From == document.FromName:
		return t.in.number(t.in.text("d.name", "d.name_rest"))
	case c.From == document.FromContainer && c.Nullable:
		return "NULLIF(d.repository, 0)"
	case c.From == document.FromContainer:
		return "d.repository"
	case c.Nullable && (c.From == document.FromAdditions || c.From == document.FromDeletions):
		return "CASE WHEN " + flag(document.Fields{Measured: true}) + " THEN d." + string(c.From) + " END"
	}
	return "d." + string(c.From)
}

func (t *table) boolean(from document.Origin) string {
	switch from {
	case document.FromFork:
		return flag(document.Fields{Fork: true})
	case document.FromPrivate:
		return flag(document.Fields{Private: true})
	case document.FromExternal:
		return flag(document.Fields{External: true})
	case document.FromTruncated:
		return flag(document.Fields{Truncated: true})
	}
	if t.kind.Independent {
		return "(" + gone + ")"
	}
	return "(" + gone + " OR " + goneWithRepository + ")"
}

// flag is whether what is true of the fields is true of a document.
func flag(f document.Fields) string {
	return "(d.flags & " + strconv.FormatInt(tables.Flags(&f), 10) + ") <> 0"
}

// A document is gone by itself, unless it was seen after the last claim, or else
// with its repository, unless that was.
const (
	gone               = "d.gone_why <> '' AND d.seen_at <= d.gone_last"
	goneWithRepository = "p.gone_why IS NOT NULL"
)

// ofAbsence is what is true of a document's own absence, or else of its
// repository's.
func (t *table) ofAbsence(own, repository, none string) string {
	sql := "CASE WHEN " + gone + " THEN " + own
	if !t.kind.Independent {
		sql += " WHEN " + goneWithRepository + " THEN " + repository
	}
	return sql + " ELSE " + none + " END"
}

func (t *table) goneWhy() string {
	return t.ofAbsence(t.in.word("d.gone_why"), t.in.word("p.gone_why"), "''")
}

// micros is an instant in microseconds, 0 if there is none.
func (t *table) micros(from document.Origin) string {
	if from == document.FromGoneSince {
		// It was there after all when the absence was claimed first.
		return t.ofAbsence(t.in.later("d.gone_at", "d.seen_at"), t.in.later("p.gone_at", "d.seen_at"), "0")
	}
	return "d." + string(from)
}
