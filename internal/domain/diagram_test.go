package domain_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/internal/domain"
)

// TestDiagramsAreTheMachines: docs/architecture.md draws the moves that the tables
// allow, all of them and no other.
func TestDiagramsAreTheMachines(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	drawn := func(machine string) (moves []string) {
		_, rest, found := strings.Cut(string(text), `state "`+machine+`" as `)
		if !found {
			t.Fatalf("there is no diagram of a %s", machine)
		}
		part, _, _ := strings.Cut(rest, "```")
		for _, m := range regexp.MustCompile(`(?m)^\s*([A-Z]+) --> ([A-Z]+)`).FindAllStringSubmatch(part, -1) {
			moves = append(moves, m[1]+" to "+m[2])
		}
		slices.Sort(moves)
		return moves
	}
	check := func(machine string, allowed []string) {
		slices.Sort(allowed)
		if got := drawn(machine); !slices.Equal(got, allowed) {
			t.Errorf("the diagram of a %s shows\n%s\nwant\n%s", machine, strings.Join(got, "\n"), strings.Join(allowed, "\n"))
		}
	}
	var jobs, runs []string
	for from := domain.JobReady; from <= domain.JobCanceled; from++ {
		for to := domain.JobReady; to <= domain.JobCanceled; to++ {
			if _, err := domain.MoveJob(from, to); err == nil {
				jobs = append(jobs, from.String()+" to "+to.String())
			}
		}
	}
	for from := domain.RunCreated; from <= domain.RunCanceled; from++ {
		for to := domain.RunCreated; to <= domain.RunCanceled; to++ {
			if _, err := domain.MoveRun(from, to); err == nil {
				runs = append(runs, from.String()+" to "+to.String())
			}
		}
	}
	check("Job", jobs)
	check("Run", runs)
}
