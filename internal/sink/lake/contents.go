package lake

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/sink"
)

// catalog keeps which files a lake has. Keys of files begin with the table's name.
type catalog interface {
	// load returns what was committed last; of a lake that is not there nothing.
	load(ctx context.Context) (*contents, error)
	// commit makes a change take effect at once. Its files are written.
	commit(ctx context.Context, c *change) error
	// expire forgets the files that no reader sees since an instant, and returns
	// their keys; c was committed last.
	expire(ctx context.Context, c *change, before time.Time) ([]string, error)
	// named has the keys of all files that are not forgotten.
	named(ctx context.Context) (map[string]bool, error)
	close() error
}

// contents are what a lake consists of.
type contents struct {
	Progress sink.Progress       `json:"progress"`
	Tables   map[string]*holding `json:"tables"`
}

// holding is a table and its files, in the order of their keys.
type holding struct {
	Columns []column `json:"columns"`
	Files   []*file  `json:"files"`
	// id is that of the table in a DuckLake.
	id int64
}

// column is a column that was made once. Numbers are never used twice in a table.
type column struct {
	Name    string        `json:"name"`
	Type    document.Type `json:"type"`
	ID      int           `json:"id"`
	Element int           `json:"element,omitempty"`
}

// file is one of a table's files. Its rows are all that the table has from the
// first to the last key.
type file struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	First rowKey `json:"first"`
	Last  rowKey `json:"last"`
	// Oldest is the generation that its oldest row was stored in.
	Oldest int64 `json:"oldest"`

	// Of a file that is in a DuckLake, or is to be.
	id, footer int64
	figures    []figures
}

// rowKey identifies a row in its table.
type rowKey struct {
	Account int64  `json:"account"`
	Name    string `json:"name"`
}

func (k rowKey) compare(o rowKey) int {
	return cmp.Or(cmp.Compare(k.Account, o.Account), strings.Compare(k.Name, o.Name))
}

// change is what one commit does.
type change struct {
	next             *contents
	created, altered []string
	added, dropped   map[string][]*file
}

func (c *contents) clone() *contents {
	next := &contents{Progress: c.Progress, Tables: maps.Clone(c.Tables)}
	for name, held := range next.Tables {
		next.Tables[name] = &holding{Columns: slices.Clone(held.Columns), Files: slices.Clone(held.Files), id: held.id}
	}
	return next
}

// shape makes what is missing of a table. A column is never given another type.
func (c *change) shape(t *table) error {
	held := c.next.Tables[t.name]
	if held == nil {
		held = &holding{}
		c.next.Tables[t.name] = held
		c.created = append(c.created, t.name)
	}
	had := len(held.Columns)
	next := 1
	for _, old := range held.Columns {
		next = max(next, old.ID+1, old.Element+1)
	}
	for _, want := range t.columns {
		at := slices.IndexFunc(held.Columns, func(o column) bool { return o.Name == want.Name })
		if at >= 0 {
			if old := held.Columns[at]; old.Type != want.Type {
				return domain.Errorf(domain.CodeConflict, "the column %s of table %s in the lake holds %s and is declared as %s: begin the lake anew in another folder",
					want.Name, t.name, old.Type, want.Type)
			}
			continue
		}
		add := column{Name: want.Name, Type: want.Type, ID: next}
		if next++; want.Type == document.TypeList {
			add.Element = next
			next++
		}
		held.Columns = append(held.Columns, add)
	}
	if len(held.Columns) > had && had > 0 {
		c.altered = append(c.altered, t.name)
	}
	return nil
}

// ids are the numbers of columns.
func (h *holding) ids(columns []document.Column) []export.FieldID {
	ids := make([]export.FieldID, len(columns))
	for i, want := range columns {
		at := slices.IndexFunc(h.Columns, func(o column) bool { return o.Name == want.Name })
		ids[i] = export.FieldID{Column: h.Columns[at].ID, Element: h.Columns[at].Element}
	}
	return ids
}

// table is a table that nobody declares any more, as it is rewritten.
func (h *holding) table(name string) *table {
	t := &table{name: name}
	keys := keyColumns()
	for _, c := range h.Columns {
		if !slices.ContainsFunc(keys, func(k document.Column) bool { return k.Name == c.Name }) {
			t.columns = append(t.columns, document.Column{Name: c.Name, Type: c.Type, Nullable: true})
		}
	}
	t.columns = append(t.columns, keys...)
	t.lay(h)
	return t
}

// replaced notes what becomes of a table's files.
func (c *change) replaced(name string, dropped, added []*file) {
	if c.added == nil {
		c.added, c.dropped = map[string][]*file{}, map[string][]*file{}
	}
	c.added[name] = append(c.added[name], added...)
	c.dropped[name] = append(c.dropped[name], dropped...)
}
