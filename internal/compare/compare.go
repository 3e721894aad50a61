// Package compare holds what another system collected against what this one did,
// document by document, so that one can switch over with evidence.
//
// Both sides are read as rows of one kind, in whatever order they come, brought
// into the order of their keys by an external sort, and walked side by side:
// memory does not grow with the number of documents.
//
//   - compare.go: what is compared, and the walk.
//   - report.go: what was found, by kind and account.
//   - values.go: values as texts that are the same when they mean the same.
//   - sort.go: the external sort.
//   - jsonl.go, parquet.go, tables.go: what the other side may be.
package compare

import (
	"context"
	"iter"
	"slices"
	"strings"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// Fields are a row as it was read, by the names of its columns.
type Fields map[string]any

// Side is one of the two that are compared.
type Side interface {
	// Columns are the names that rows have.
	Columns(ctx context.Context) ([]string, error)
	// Rows yields all rows, in any order. A row may be used until the next.
	Rows(ctx context.Context) iter.Seq2[Fields, error]
}

// Options say what is compared.
type Options struct {
	// Kind is what the rows are, with the columns of this side.
	Kind *document.Declaration
	// Names are what the other side calls columns; those that are not in it it
	// calls as this side does.
	Names map[string]string
	// Key names the columns that tell documents apart; account and id if there are
	// none.
	Key []string
	// Ignore names columns that are not compared.
	Ignore []string
	// Accounts are the logins whose documents are compared; all if there are none.
	Accounts []string
	// Examples is how many documents of each sort are named.
	Examples int
	// Memory is about how many bytes are sorted at once, and Folder where what does
	// not fit is put.
	Memory int
	Folder string
}

// defaultMemory is how much is sorted at once.
const defaultMemory = 32 << 20

// AccountColumn is the column that says whose a document is.
const AccountColumn = "account"

// plan is what was decided before the first row.
type plan struct {
	Options
	keys, columns []document.Column
	// missing are columns that the other side does not have.
	missing []string
}

// Compare compares the rows of two sides.
func Compare(ctx context.Context, ours, theirs Side, o Options) (Found, error) {
	p, err := newPlan(ctx, theirs, o)
	if err != nil {
		return Found{}, err
	}
	left, err := p.sorted(ctx, ours, nil)
	if err != nil {
		return Found{}, err
	}
	defer left.close()
	right, err := p.sorted(ctx, theirs, o.Names)
	if err != nil {
		return Found{}, err
	}
	defer right.close()
	return p.walk(left, right)
}

func newPlan(ctx context.Context, theirs Side, o Options) (*plan, error) {
	if len(o.Key) == 0 {
		o.Key = []string{AccountColumn, "id"}
	}
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	have, err := theirs.Columns(ctx)
	if err != nil {
		return nil, err
	}
	p := &plan{Options: o}
	for _, name := range slices.Concat(o.Key, o.Ignore, mapped(o.Names)) {
		if !slices.ContainsFunc(o.Kind.Columns, func(c document.Column) bool { return c.Name == name }) {
			return nil, domain.Errorf(domain.CodeInvalid, "%s have no column %s; they have %s", o.Kind.Plural, name, strings.Join(columnNames(o.Kind), ", "))
		}
	}
	for ours, theirs := range o.Names {
		if !slices.Contains(have, theirs) {
			return nil, domain.Errorf(domain.CodeInvalid, "--map %s=%s: the other side has no column %[2]s; it has %s", ours, theirs, strings.Join(have, ", "))
		}
	}
	for _, c := range o.Kind.Columns {
		there := slices.Contains(have, p.their(c.Name))
		switch {
		case slices.Contains(o.Key, c.Name) && !there:
			return nil, domain.Errorf(domain.CodeInvalid,
				"the other side has no column %s, by which documents are told apart; say what it is called with --map %s=NAME, or choose others with --key. It has %s",
				p.their(c.Name), c.Name, strings.Join(have, ", "))
		case slices.Contains(o.Key, c.Name):
			p.keys = append(p.keys, c)
		case slices.Contains(o.Ignore, c.Name):
		case there:
			p.columns = append(p.columns, c)
		default:
			p.missing = append(p.missing, c.Name)
		}
	}
	return p, nil
}

func mapped(names map[string]string) (ours []string) {
	for name := range names {
		ours = append(ours, name)
	}
	return ours
}

func columnNames(kind *document.Declaration) (names []string) {
	for _, c := range kind.Columns {
		names = append(names, c.Name)
	}
	return names
}

// their is what the other side calls a column.
func (p *plan) their(name string) string {
	if other, ok := p.Names[name]; ok {
		return other
	}
	return name
}

// sorted reads a side and brings it into the order of its keys.
func (p *plan) sorted(ctx context.Context, side Side, names map[string]string) (*sorter, error) {
	s := newSorter(p.Folder, p.Memory)
	called := func(name string) string {
		if other, ok := names[name]; ok {
			return other
		}
		return name
	}
	for fields, err := range side.Rows(ctx) {
		if err == nil {
			if one := p.row(fields, called); p.wants(one.Account) {
				err = s.add(one)
			}
		}
		if err != nil {
			s.close()
			return nil, err
		}
	}
	if err := s.finish(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// wants says whether the documents of an account are compared.
func (p *plan) wants(account string) bool {
	return len(p.Accounts) == 0 || slices.ContainsFunc(p.Accounts, func(one string) bool { return strings.EqualFold(one, account) })
}

// row is a document as far as it is compared.
func (p *plan) row(fields Fields, called func(string) string) row {
	r := row{Values: make([]string, len(p.columns))}
	var key []string
	for _, c := range p.keys {
		key = append(key, meaning(fields[called(c.Name)], &c))
	}
	r.Key = strings.Join(key, "\x1f")
	r.Account = strings.ToLower(text(fields[called(AccountColumn)], document.TypeText))
	for i, c := range p.columns {
		r.Values[i] = meaning(fields[called(c.Name)], &c)
	}
	return r
}

// meaning is a value of a column as it is compared.
func meaning(value any, c *document.Column) string {
	if c.Name == AccountColumn || c.HasLogin() {
		return strings.ToLower(text(value, c.Type))
	}
	return text(value, c.Type)
}

// walk goes through both sides at once.
func (p *plan) walk(left, right *sorter) (Found, error) {
	found := newFound(p)
	a, err := left.next()
	if err != nil {
		return found.Found, err
	}
	b, err := right.next()
	for a != nil || b != nil {
		if err != nil {
			return found.Found, err
		}
		takeA := a != nil && (b == nil || a.Key <= b.Key)
		takeB := b != nil && (a == nil || b.Key <= a.Key)
		found.see(a, b, takeA, takeB)
		var errA, errB error
		if takeA {
			a, errA = left.after(a, &found.Ours)
		}
		if takeB {
			b, errB = right.after(b, &found.Theirs)
		}
		if err = errA; err == nil {
			err = errB
		}
	}
	if err != nil {
		return found.Found, err
	}
	return found.finish(), nil
}
