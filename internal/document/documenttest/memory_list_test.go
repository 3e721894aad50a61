package documenttest

import (
	"slices"
	"testing"

	"sluice/internal/document"
)

// TestMemoryLists: pages of the model, in every order, restricted or not.
func TestMemoryLists(t *testing.T) {
	kinds := kindsWithOwn(document.Column{Name: "tags", Type: document.TypeList, From: document.FromOwn, Nullable: true})
	for i := range kinds {
		if kinds[i].Kind == KindIssue {
			kinds[i].Labels = "tags"
		}
	}
	x := &fixture{TB: t, Store: NewMemory(kinds)}
	m := x.Store.(*Memory)
	for i, name := range []string{"d", "b", "a", "c"} {
		d := issue(int64(1+i%2), name, i)
		d.CreatedAt, d.Author, d.Repository = instant(i/2), "Ann", int64(7+i%2)
		if i < 2 {
			d.Own = document.Values{"tags": document.List("x", name)}
		}
		x.upsert(d)
	}
	x.ok(m.MarkDeleted(t.Context(), []document.Absence{{Account: 1, Repository: 7, Why: document.GoneDeleted, Since: instant(2000)}}))
	yes := true
	for _, c := range []struct {
		s    document.Selection
		want []string
	}{
		{document.Selection{}, []string{"a", "d", "b", "c"}},
		{document.Selection{Descending: true}, []string{"c", "b", "d", "a"}},
		{document.Selection{Sort: document.SortCreated}, []string{"d", "b", "a", "c"}},
		{document.Selection{Sort: document.SortCreated, Descending: true}, []string{"c", "a", "b", "d"}},
		{document.Selection{Label: "x"}, []string{"d", "b"}},
		{document.Selection{Label: "b", Author: "aNN"}, []string{"b"}},
		{document.Selection{Author: "bob"}, nil},
		{document.Selection{Deleted: &yes}, []string{"a", "d"}},
		{document.Selection{CreatedFrom: instant(1), Repository: 8}, []string{"c"}},
		{document.Selection{CreatedUntil: instant(1), Account: 2}, []string{"b"}},
	} {
		for size := 1; size < 5; size++ {
			c.s.Kind, c.s.Limit, c.s.After = KindIssue, size, nil
			var got []string
			for {
				page, err := m.List(t.Context(), c.s)
				x.ok(err)
				got = append(got, names(page.Documents)...)
				if page.Next == nil {
					break
				}
				c.s.After = page.Next
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v: %v, want %v", c.s, got, c.want)
			}
		}
	}
}
