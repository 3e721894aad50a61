package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"sluice/bench/report"
	"sluice/internal/document"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
)

// bigRepository runs the real program on an account whose one repository is as big as
// the biggest, with everything that is collected unless somebody says otherwise, and then
// on one of half the size: the memory that it takes must not grow with what it collects.
func bigRepository(ctx context.Context, l *lab) error {
	scale := max(l.scale, l.size(1, 1000))
	half, err := l.collectBig(ctx, 2*scale)
	if err != nil {
		return err
	}
	whole, err := l.collectBig(ctx, scale)
	if err != nil {
		return err
	}
	line := report.Line{
		Name: "big_repository", Value: whole.megabytes, Unit: "MB at the most",
		Detail: fmt.Sprintf("sluice collect of one repository with %d commits, %d issues and %d comments: %d calls in %.0f s, %d MB on disk; peak resident memory of its process",
			whole.commits, whole.issues, whole.comments, whole.calls, whole.seconds, whole.disk>>20),
	}.Against("one of half the size", half.megabytes)
	return l.report.Add(line.Aim("<= 1.25x", *line.Ratio <= 1.25))
}

// bigFigures are those of one collection.
type bigFigures struct {
	commits, issues, comments, calls int
	megabytes, seconds               float64
	disk                             int64
}

func (l *lab) collectBig(ctx context.Context, scale int) (bigFigures, error) {
	f := bigFigures{commits: 1_000_000 / scale, issues: 300_000 / scale, comments: 2_000_000 / scale}
	pulls := max(f.issues/50, 1)
	world := sim.New(sim.Options{
		Seed: 41, Accounts: 1, Limits: boundless(),
		Shape: &sim.Shape{Repos: sim.Exactly(1), Commits: sim.Exactly(f.commits), Issues: sim.Exactly(f.issues), Pulls: sim.Exactly(pulls), Comments: sim.Exactly(f.comments)},
	})
	server := httptest.NewServer(world)
	defer server.Close()
	dir, remove, err := l.folder("big")
	if err != nil {
		return f, err
	}
	defer remove()
	began := time.Now()
	peak, documents, err := l.collectOutside(ctx, world, server.URL, dir)
	if err != nil {
		return f, err
	}
	f.seconds, f.megabytes, f.calls = time.Since(began).Seconds(), float64(peak)/(1<<20), world.Audit().Calls
	for kind, want := range map[document.Kind]int{github.KindCommit: f.commits, github.KindIssue: f.issues, github.KindPull: pulls, github.KindComment: f.comments} {
		if got := documents[kind].Stored; got != int64(want) {
			return f, fmt.Errorf("%d of %d documents of kind %s are stored", got, want, kind)
		}
	}
	f.disk, err = folderSize(dir)
	l.notef("1/%d: %.0f MB at the most, %.0f s", scale, f.megabytes, f.seconds)
	return f, err
}
