package database

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sink"
)

// The columns that are the sink's own. A row is known by the number of its account
// and its name within the kind.
const (
	columnAccount    = "_sluice_account"
	columnName       = "_sluice_name"
	columnGeneration = "_sluice_generation"
	columnRaw        = "raw"
	// progressTable has a row for each prefix of tables.
	progressTable = "_sluice_sink"
)

// columnType is how a database calls a type.
type columnType struct {
	// sql is how a column is declared, and shown how the database shows its type; it
	// may show one of several.
	sql   string
	shown []string
}

// types are those of a database.
type types struct {
	values                map[document.Type]columnType
	name, raw, generation columnType
}

// column is a column of a table in the database.
type column struct {
	name string
	columnType
	required bool
}

// table is a table in the database.
type table struct {
	sink.Table
	// name is what it is called there.
	name string
	// columns are all of them; those that are declared begin with the third.
	columns []column
}

// found is a column that is there.
type found struct {
	name, shown string
	// required says that it is neither null nor has a default, key that it is part of
	// the identity.
	required, key bool
}

// newTable plans a table.
func newTable(t sink.Table, prefix string, in *types) *table {
	p := &table{Table: t, name: prefix + t.Name}
	p.columns = []column{
		{columnAccount, in.values[document.TypeInteger], true},
		{columnName, in.name, true},
	}
	for _, c := range t.Columns {
		p.columns = append(p.columns, column{c.Name, in.values[c.Type], false})
	}
	if t.Raw {
		p.columns = append(p.columns, column{columnRaw, in.raw, false})
	}
	p.columns = append(p.columns, column{columnGeneration, in.generation, true})
	return p
}

// names are those of its columns.
func (t *table) names() []string {
	names := make([]string, len(t.columns))
	for i := range t.columns {
		names[i] = t.columns[i].name
	}
	return names
}

// create is the statement that makes the table.
func (t *table) create(quote func(string) string, called string) string {
	var sql strings.Builder
	sql.WriteString("CREATE TABLE IF NOT EXISTS " + called + " (")
	for _, c := range t.columns {
		sql.WriteString(quote(c.name) + " " + c.sql)
		if c.required {
			sql.WriteString(" NOT NULL")
		}
		sql.WriteString(", ")
	}
	sql.WriteString("PRIMARY KEY (" + quote(columnAccount) + ", " + quote(columnName) + "))")
	return sql.String()
}

// missing are the columns that a table which is there has to get. What was changed by
// hand so that rows cannot be stored is an error.
func (t *table) missing(there []found) (missing []column, err error) {
	for _, c := range t.columns {
		at := slices.IndexFunc(there, func(f found) bool { return strings.EqualFold(f.name, c.name) })
		switch {
		case at < 0 && c.required:
			return nil, t.conflict(c.name, "is not there")
		case at < 0:
			missing = append(missing, c)
		case !slices.Contains(c.shown, strings.ToLower(there[at].shown)):
			return nil, t.conflict(c.name, "is of the type "+there[at].shown+" and not "+c.shown[0])
		}
	}
	for _, f := range there {
		identity := f.name == columnAccount || f.name == columnName
		known := slices.ContainsFunc(t.columns, func(c column) bool { return c.name == f.name })
		switch {
		case f.key != identity:
			return nil, t.conflict(f.name, "is not as it was in the primary key, which is "+columnAccount+" and "+columnName)
		case f.required && !known:
			return nil, t.conflict(f.name, "was added and needs a value; give it a default, or let it be null")
		}
	}
	return missing, nil
}

func (t *table) conflict(name, what string) error {
	return domain.Errorf(domain.CodeConflict, "the column %s of the table %s %s: it was changed by hand. Change it back, or drop the table: the sink then makes it anew and copies everything", name, t.name, what)
}

// longestName is up to how many bytes of a name are part of the identity as they are.
const longestName = 512

// shortName is a document's name as the identity has it: there is a limit to how long
// what is in an index may be. Of a longer one the end is replaced by a hash of it all.
func shortName(name string) string {
	if len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(name[:longestName-2*len(sum)-1], "") + "#" + hex.EncodeToString(sum[:])
}
