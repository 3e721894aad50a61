package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
)

// follow shows the progress of runs until each has ended or waits for a
// person. It returns their last state by run id.
func (a *App) follow(ctx context.Context, s *session, o *options, runs []int64) (map[int64]engine.Progress, error) {
	last := make(map[int64]engine.Progress, len(runs))
	board := newBoard(a.Err, a.style(a.Err), terminalWidth(a.Err), a.Now)
	open := map[int64]bool{}
	take := func(p engine.Progress) bool {
		last[p.ID] = p
		board.update(p)
		open[p.ID] = p.Status.Active() && !waitsForPerson(p)
		for _, more := range open {
			if more {
				return true
			}
		}
		return false
	}
	more := false
	for _, id := range runs {
		detail, err := s.Run(ctx, id, false)
		if err != nil {
			return nil, err
		}
		more = take(detail.Progress)
	}
	show := func() {
		if !o.json() {
			board.draw()
		}
	}
	show()
	if !more {
		return last, nil
	}
	lastDraw := a.Now()
	// Runs that end before the stream begins must be in it as well.
	for p, err := range s.WatchAfter(ctx, slices.Min(runs)-1) {
		if err != nil {
			return last, err
		}
		if _, ours := last[p.ID]; !ours {
			continue
		}
		more := take(p)
		if now := a.Now(); !more || !p.Status.Active() || now.Sub(lastDraw) >= 100*time.Millisecond {
			lastDraw = now
			show()
		}
		if !more {
			break
		}
	}
	return last, nil
}

// waitsForPerson tells a run that will not go on by itself: a wait without an
// end is one for a person.
func waitsForPerson(p engine.Progress) bool {
	for _, w := range p.Waits {
		if w.Until.IsZero() {
			return true
		}
	}
	return false
}

// result is how one account's collection went.
type result struct {
	Login      string           `json:"login"`
	Run        int64            `json:"run"`
	Status     domain.RunStatus `json:"status"`
	Reason     string           `json:"reason,omitempty"`
	Calls      int64            `json:"calls"`
	Documents  int64            `json:"documents"`
	FailedJobs int64            `json:"failed_jobs"`
	// Paused is set when the account waits for a person.
	Paused     bool `json:"paused,omitempty"`
	Statistics any  `json:"statistics,omitempty"`
}

func resultOf(p engine.Progress) result {
	r := result{
		Login: p.Login, Run: p.ID, Status: p.Status, Reason: p.Reason,
		Calls: p.Calls, Documents: p.Documents, FailedJobs: p.Failed,
	}
	if waitsForPerson(p) {
		r.Paused, r.Reason = true, waitText(p)
	}
	return r
}

// summary is what collect and demo print at the end.
type summary struct {
	Accounts  int            `json:"accounts"`
	Runs      map[string]int `json:"runs"`
	Calls     int64          `json:"calls"`
	Documents int64          `json:"documents"`
	Results   []result       `json:"results"`
}

func summarize(order []int64, last map[int64]engine.Progress) summary {
	s := summary{Accounts: len(order), Runs: map[string]int{}}
	for _, id := range order {
		r := resultOf(last[id])
		s.Runs[r.Status.String()]++
		s.Calls += r.Calls
		s.Documents += r.Documents
		s.Results = append(s.Results, r)
	}
	return s
}

// exit turns what happened into the error that sets the exit code.
func (s summary) exit() error {
	var failed error
	for _, r := range s.Results {
		switch {
		case r.Paused:
			return &exitError{exitUnauthorized, errors.New(r.Login + " is paused: " + r.Reason)}
		case r.Status != domain.RunCompleted && failed == nil:
			failed = errors.New("the collection of " + r.Login + " ended " + r.Status.String() + ": " + r.Reason)
		case r.FailedJobs > 0 && failed == nil:
			failed = errors.New("the collection of " + r.Login + " is incomplete: `sluice job list --status FAILED` shows what is missing")
		}
	}
	return failed
}
