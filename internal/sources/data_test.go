package sources_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sluice/internal/document"
	"sluice/internal/sources"
)

var update = flag.Bool("update", false, "write docs/data.md anew")

// TestDataIsDocumented compares docs/data.md with what sources declare; go test
// ./internal/sources -update writes it anew. What follows the mark in it is written
// by hand.
func TestDataIsDocumented(t *testing.T) {
	const path = "../../docs/data.md"
	before, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	_, byHand, _ := strings.Cut(string(before), endOfTables)
	want := dataPage(sources.Kinds()) + endOfTables + byHand
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
		return
	}
	if string(before) != want {
		t.Errorf("%s is not what sources declare; write it anew with `go test ./internal/sources -run Documented -update`", path)
	}
}

// TestEveryColumnIsExplained: a column that nobody explains is of no use.
func TestEveryColumnIsExplained(t *testing.T) {
	for _, kind := range sources.Kinds() {
		if len(kind.Columns) == 0 || kind.Doc == "" {
			t.Errorf("%s have no table, or nobody says what they are", kind.Plural)
		}
		for _, c := range kind.Columns {
			if c.Doc == "" {
				t.Errorf("nobody says what %s of %s is", c.Name, kind.Plural)
			}
		}
	}
}

// endOfTables is where what is written by hand begins.
const endOfTables = "\n<!-- What follows is written by hand. -->\n"

const introduction = `# The data

<!-- Written by ` + "`go test ./internal/sources -run Documented -update`" + ` from what sources declare (internal/source/*/kinds.go). -->

What is collected can be taken away as tables: ` + "`sluice export --kind KIND`" + ` as JSON lines, CSV or Parquet. This page has every table and
every column. The same names are used everywhere.

A table has a row for each thing that was collected for an account: the same repository, collected for two accounts, is two
rows, which differ in ` + "`account`" + `. ` + "`account`, `source` and `id`" + ` together name a row for good. ` + "`repository_id`" + ` leads from what lies
in a repository to the row of ` + "`repositories`" + ` with that ` + "`id`" + `, if the same account has it; names change, ids do not.

**Rows show what the upstream said last**, not what was true at some instant: there is one row for a thing, and a newer copy
replaces an older one, whatever comes first.

**Types.**

| Type | is | as JSON | as CSV | as Parquet |
|---|---|---|---|---|
| text | UTF-8; NUL and what is no UTF-8 are replaced by U+FFFD | string | as it is, quoted as RFC 4180 has it | string |
| integer | 64 bits | number | digits | int64 |
| boolean | | ` + "`true`, `false`" + ` | ` + "`true`, `false`" + ` | boolean |
| instant | a time in UTC, to the microsecond | RFC 3339 | RFC 3339 | timestamp in microseconds, UTC |
| list | texts, in the upstream's order | array of strings | JSON | list of strings |

**Null** is an empty field in CSV. It means *not known or not there*: where a column can tell the two apart its description
says so. Columns without it always have a value. Numbers that are null are not zero: leave them out of sums. A text that is
empty is null. A list without members is not null: it is known to be empty.

**What is gone stays**, with ` + "`deleted`" + ` true, since when in ` + "`gone_since`" + ` and why in ` + "`gone_why`" + `: *deleted* (a complete listing lacks it,
or a look by its id found nothing), *transferred*, *forbidden* (the credential may not see it), *blocked* (the upstream
withholds it) or *rewritten* (no part of its branch's history any more). What lies in a repository goes with it and comes back
with it; events stay. Count with ` + "`NOT deleted`" + ` unless you want history. Only ` + "`account purge`" + ` removes rows.

**Truncated.** A payload over 1 MiB is cut. Its row has all columns that were read before; those of a column that was declared
later are null.

**What was collected by an earlier version** gets the values of columns that were declared since from its payload, in the
background, after the first start of the new one; until then they are null. What an earlier version did not ask for is not in
its payload, and stays null until the thing changes upstream.

Statistics, a row for each account, are explained in [statistics.md](statistics.md).
`

// dataPage is docs/data.md, all but what is written by hand.
func dataPage(kinds document.Kinds) string {
	var page strings.Builder
	page.WriteString(introduction)
	for i := range kinds {
		kind := &kinds[i]
		fmt.Fprintf(&page, "\n## %s\n\n%s: %s.%s\n\n| Column | Type | Null | |\n|---|---|---|---|\n",
			kind.Plural, capital(kind.Source), kind.Doc, aboutTable(kind))
		for _, c := range kind.Columns {
			page.WriteString(row(&c))
		}
	}
	return page.String()
}

func aboutTable(kind *document.Declaration) string {
	about := ""
	if kind.Independent {
		about += " They are the account's, and stay when their repository goes."
	}
	if kind.Labels != "" {
		about += " Its labels are `" + kind.Labels + "`."
	}
	var searched []string
	for _, c := range kind.Columns {
		if c.Searched {
			searched = append(searched, "`"+c.Name+"`")
		}
	}
	if len(searched) > 0 {
		about += " A search for words looks into " + strings.Join(searched, ", ") + "."
	}
	return about
}

func row(c *document.Column) string {
	null, typ := "", string(c.Type)
	if c.Nullable {
		null = "yes"
	}
	if c.Unit != "" {
		typ += ", " + c.Unit
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", c.Name, typ, null, strings.ReplaceAll(c.Doc, "|", `\|`))
}

func capital(source string) string {
	names := map[string]string{"github": "GitHub"}
	if name, ok := names[source]; ok {
		return name
	}
	return source
}

// TestNamesMeanOneThing: a name has one type in all tables, so that they can be
// joined and put together.
func TestNamesMeanOneThing(t *testing.T) {
	types := map[string][]document.Type{}
	for _, kind := range sources.Kinds() {
		for _, c := range kind.Columns {
			if c.Name != "id" && !slices.Contains(types[c.Name], c.Type) {
				types[c.Name] = append(types[c.Name], c.Type)
			}
		}
	}
	for name, of := range types {
		if len(of) > 1 {
			t.Errorf("%s is of the types %v", name, of)
		}
	}
}
