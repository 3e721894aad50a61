package query_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/query"
	"sluice/internal/record"
)

func TestSaved(t *testing.T) {
	ctx, noon := t.Context(), time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	s := query.NewSaved(record.NewMemory(), func() time.Time { return noon })
	for _, q := range []query.SavedQuery{{Name: "b", SQL: " SELECT 1 "}, {Name: "a", SQL: "SELECT 2", About: "two"}, {Name: "b", SQL: "SELECT 3"}} {
		if _, err := s.Save(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(ctx)
	want := []query.SavedQuery{{Name: "a", SQL: "SELECT 2", About: "two", SavedAt: noon}, {Name: "b", SQL: "SELECT 3", SavedAt: noon}}
	if err != nil || len(list) != 2 || list[0] != want[0] || list[1] != want[1] {
		t.Errorf("listed are %v, %v", list, err)
	}
	if got, err := s.Get(ctx, "a"); err != nil || got != want[0] {
		t.Errorf("got %v, %v", got, err)
	}
	if err := s.Remove(ctx, "a"); err != nil {
		t.Error(err)
	}
	if err := s.Remove(ctx, "a"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("removed again: %v", err)
	}
	if _, err := s.Get(ctx, "a"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("what was removed: %v", err)
	}
	for _, wrong := range []query.SavedQuery{
		{Name: "", SQL: "SELECT 1"}, {Name: "a b", SQL: "SELECT 1"}, {Name: "a"}, {Name: "a", SQL: strings.Repeat("x", query.MostSaved+1)},
		{Name: "a", SQL: "SELECT 1", About: strings.Repeat("x", 301)},
	} {
		if _, err := s.Save(ctx, wrong); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%.20v: %v", wrong, err)
		}
	}
}
