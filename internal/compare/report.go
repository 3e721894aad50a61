package compare

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/internal/document"
)

// Count is what one side has.
type Count struct {
	Documents int64 `json:"documents"`
	// Twice counts documents that it has more than once; one of them is compared.
	Twice int64 `json:"twice,omitempty"`
	// Contradicting counts those of them that it does not have the same each time.
	Contradicting int64 `json:"contradicting,omitempty"`
	// Newest is when the newest of them was made, as far as that is known.
	Newest time.Time `json:"newest,omitzero"`
}

// Differences are documents that are not the same on both sides.
type Differences struct {
	// Missing are those that only the other side has, Extra those that only this
	// one has.
	Missing   int64 `json:"missing"`
	Extra     int64 `json:"extra"`
	Different int64 `json:"different"`
}

// Any says whether there is one.
func (d Differences) Any() bool { return d.Missing+d.Extra+d.Different > 0 }

// Found is what comparing one kind found.
type Found struct {
	Kind   string `json:"kind"`
	Ours   Count  `json:"ours"`
	Theirs Count  `json:"theirs"`
	Same   int64  `json:"same"`
	Differences
	// Accounts are those with differences; Columns how often each column differs.
	Accounts map[string]*Differences `json:"accounts"`
	Columns  map[string]int64        `json:"columns"`
	// Unknown are columns that the other side does not have.
	Unknown  []string  `json:"not_compared"`
	Examples []Example `json:"examples"`
}

// Equal says whether both sides have the same. A side that contradicts itself is
// the same as none.
func (f *Found) Equal() bool { return !f.Any() && f.Ours.Contradicting+f.Theirs.Contradicting == 0 }

// Example is one document that is not the same.
type Example struct {
	// What is missing, extra or different.
	What    string `json:"what"`
	Account string `json:"account,omitempty"`
	Key     string `json:"key"`
	// Values are those that differ, by column.
	Values map[string]Pair `json:"values,omitempty"`
}

// Pair is a value of both sides.
type Pair struct {
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

// What can be found of a document.
const (
	Missing   = "missing"
	Extra     = "extra"
	Different = "different"
)

// finding is a Found that is being made.
type finding struct {
	Found
	plan *plan
	// newest is the column that says when a document was made; -1 if none does.
	newest int
	shown  map[string]int
}

func newFound(p *plan) *finding {
	f := &finding{plan: p, newest: -1, shown: map[string]int{}}
	f.Kind, f.Unknown = p.Kind.Plural, p.missing
	f.Accounts, f.Columns, f.Examples = map[string]*Differences{}, map[string]int64{}, []Example{}
	if f.Unknown == nil {
		f.Unknown = []string{}
	}
	f.newest = slices.IndexFunc(p.columns, func(c document.Column) bool { return c.From == document.FromCreatedAt })
	return f
}

// see takes a row of one side, or both of one key.
func (f *finding) see(a, b *row, hasA, hasB bool) {
	if hasA {
		f.count(&f.Ours, a)
	}
	if hasB {
		f.count(&f.Theirs, b)
	}
	switch {
	case hasA && hasB:
		f.both(a, b)
	case hasA:
		f.Extra++
		f.of(a.Account).Extra++
		f.example(Extra, a, nil)
	default:
		f.Missing++
		f.of(b.Account).Missing++
		f.example(Missing, b, nil)
	}
}

func (f *finding) count(c *Count, r *row) {
	c.Documents++
	if f.newest < 0 {
		return
	}
	if at, err := time.Parse(time.RFC3339Nano, r.Values[f.newest]); err == nil && at.After(c.Newest) {
		c.Newest = at
	}
}

func (f *finding) both(a, b *row) {
	if slices.Equal(a.Values, b.Values) {
		f.Same++
		return
	}
	f.Different++
	f.of(a.Account).Different++
	values := map[string]Pair{}
	for i, c := range f.plan.columns {
		if a.Values[i] != b.Values[i] {
			f.Columns[c.Name]++
			values[c.Name] = Pair{a.Values[i], b.Values[i]}
		}
	}
	f.example(Different, a, values)
}

func (f *finding) of(account string) *Differences {
	d := f.Accounts[account]
	if d == nil {
		d = &Differences{}
		f.Accounts[account] = d
	}
	return d
}

func (f *finding) example(what string, r *row, values map[string]Pair) {
	if f.shown[what] >= f.plan.Examples {
		return
	}
	f.shown[what]++
	f.Examples = append(f.Examples, Example{What: what, Account: r.Account, Key: strings.ReplaceAll(r.Key, "\x1f", " "), Values: values})
}

func (f *finding) finish() Found { return f.Found }

// AccountNames are the accounts with differences, those with most first.
func (f *Found) AccountNames() []string {
	return slices.SortedFunc(maps.Keys(f.Accounts), func(a, b string) int {
		x, y := f.Accounts[a], f.Accounts[b]
		if d := (y.Missing + y.Extra + y.Different) - (x.Missing + x.Extra + x.Different); d != 0 {
			return int(min(max(d, -1), 1))
		}
		return strings.Compare(a, b)
	})
}
