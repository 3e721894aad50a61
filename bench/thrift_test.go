package main

import (
	"testing"
	"time"

	"sluice/internal/domain"
)

func TestFewestCallsForChanges(t *testing.T) {
	for _, c := range []struct {
		about string
		given changes
		want  int
	}{
		{"nothing changed: a page of one walk, all of the other", changes{repositories: 250}, 1 + 3},
		{"pull requests of several repositories share a batch", changes{repositories: 100, listed: 3, pulls: 3}, 1 + 1 + 3 + 1},
		{"a hundred pushes need a page more to see the first older one", changes{repositories: 250, pushed: 100, events: 100}, 2 + 3 + 100 + 1},
		{"there are no more pages than repositories", changes{repositories: 100, pushed: 100, events: 101}, 1 + 1 + 100 + 2},
	} {
		if got := c.given.fewest(); got != c.want {
			t.Errorf("%s: %d, want %d", c.about, got, c.want)
		}
	}
}

func TestFirstTwentieth(t *testing.T) {
	early, finding, late := outlook{done: 4, known: 50}, outlook{done: 5, known: 60, discovering: true}, outlook{done: 9, known: 100}
	if got, _, err := firstTwentieth([]outlook{early, finding, late}, 100); err != nil || got != late {
		t.Errorf("while repositories are found: %+v, %v", got, err)
	}
	finding.discovering = false
	if got, _, err := firstTwentieth([]outlook{early, finding, late}, 100); err != nil || got != finding {
		t.Errorf("at 5 %%: %+v, %v", got, err)
	}
	if _, _, err := firstTwentieth([]outlook{early}, 100); err == nil {
		t.Error("a forecast too early was accepted")
	}
}

func TestMisses(t *testing.T) {
	began := time.Unix(1000, 0)
	run := domain.Run{CreatedAt: began, FinishedAt: began.Add(100 * time.Second), RunCounts: domain.RunCounts{Calls: 200}}
	if got := (outlook{known: 190, ends: began.Add(110 * time.Second)}).misses(run); got != (miss{-5, 10}) {
		t.Errorf("got %+v", got)
	}
	if got := (outlook{known: 200}).misses(run); got != (miss{0, -100}) {
		t.Errorf("without an end: %+v", got)
	}
	if got := farthest([]float64{3, -7, 5}); got != -7 {
		t.Errorf("the farthest is %v", got)
	}
}
