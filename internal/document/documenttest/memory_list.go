package documenttest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sluice/internal/document"
)

var _ document.Lister = (*Memory)(nil)

// List implements document.Lister. Descending turns the whole order round, accounts
// and names too.
func (m *Memory) List(ctx context.Context, s document.Selection) (page document.Page, _ error) {
	if err := errors.Join(ctx.Err(), s.Check()); err != nil {
		return page, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	order := func(a, b document.Cursor) int {
		c := cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Name, b.Name))
		if s.Descending {
			return -c
		}
		return c
	}
	for key, h := range m.docs {
		if key.Kind != s.Kind || s.After != nil && order(document.CursorOf(&h.doc, s.Sort), *s.After) <= 0 {
			continue
		}
		if d := m.shown(h); m.selected(&d, &s) {
			if !s.WithRaw {
				d.Raw = nil
			}
			page.Documents = append(page.Documents, d)
		}
	}
	slices.SortFunc(page.Documents, func(a, b document.Document) int {
		return order(document.CursorOf(&a, s.Sort), document.CursorOf(&b, s.Sort))
	})
	if len(page.Documents) > s.Limit {
		page.Documents = page.Documents[:s.Limit]
		next := document.CursorOf(&page.Documents[s.Limit-1], s.Sort)
		page.Next = &next
	}
	return page, nil
}

// selected says whether a document has what a selection asks for.
func (m *Memory) selected(d *document.Document, s *document.Selection) bool {
	switch {
	case s.Account != 0 && d.Account != s.Account,
		s.Repository != 0 && d.Repository != s.Repository,
		s.Author != "" && !strings.EqualFold(d.Author, s.Author),
		s.State != "" && d.State != s.State,
		s.Sort == document.SortUpdated && d.UpdatedAt.IsZero(),
		s.Deleted != nil && d.Deleted != *s.Deleted,
		s.Label != "" && !m.hasLabel(d, s.Label):
		return false
	}
	return within(d.CreatedAt, s.CreatedFrom, s.CreatedUntil) && within(d.UpdatedAt, s.UpdatedFrom, s.UpdatedUntil)
}

func within(t, from, until time.Time) bool {
	return !t.Before(from) && (until.IsZero() || t.Before(until))
}

// hasLabel: a kind without labels has nothing with one.
func (m *Memory) hasLabel(d *document.Document, label string) bool {
	kind := m.kinds.Of(d.Kind)
	if kind == nil || kind.Labels == "" {
		return false
	}
	value, there := d.Own[kind.Labels]
	if !there {
		return false
	}
	members, err := value.Members()
	return err == nil && slices.Contains(members, label)
}
