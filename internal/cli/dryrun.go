package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"sluice/internal/domain"
	"sluice/internal/engine"
)

// dryRun finds out, with discovery alone, what a complete collection would
// take. It works in a folder of its own, which it removes, so that the real
// one knows nothing of it.
func (a *App) dryRun(ctx context.Context, o *options, requests []engine.Signup) (err error) {
	if o.server != "" {
		return usage("--dry-run works in this process; leave out --server")
	}
	dir, err := os.MkdirTemp("", "sluice-dry-run")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	dry := *o
	dry.dataDir, dry.discoverOnly, dry.servers = dir, true, Servers{}
	s, err := a.connect(ctx, &dry, "sluice collect --dry-run", true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	order := make([]int64, len(requests))
	for i, request := range requests {
		answer, err := s.Signup(ctx, request)
		if err != nil {
			return err
		}
		order[i] = answer.Run.ID
	}
	results := make([]dryResult, len(order))
	for i, id := range order {
		if results[i], err = discovered(ctx, s, id); err != nil {
			return err
		}
	}
	if o.json() {
		if err := printJSON(a.Out, map[string]any{"accounts": len(results), "results": results}); err != nil {
			return err
		}
	} else {
		a.printDryRun(results)
	}
	return dryExit(results)
}

// dryResult is what one account's collection would take.
type dryResult struct {
	Login     string           `json:"login"`
	Status    domain.RunStatus `json:"status"`
	Reason    string           `json:"reason,omitempty"`
	Paused    bool             `json:"paused,omitempty"`
	Documents int64            `json:"repositories_found"`
	// Calls is what the whole collection takes, discovery included.
	Calls    int64            `json:"calls"`
	Forecast *engine.Forecast `json:"forecast,omitempty"`
}

// discovered waits until everything there is has been found.
func discovered(ctx context.Context, s *session, run int64) (dryResult, error) {
	for p, err := range s.WatchRun(ctx, run) {
		if err != nil {
			return dryResult{}, err
		}
		r := dryResult{Login: p.Login, Status: p.Status, Reason: p.Reason, Documents: p.Documents, Calls: p.Known, Forecast: p.Forecast}
		switch {
		case waitsForPerson(p):
			r.Paused, r.Reason = true, waitText(p)
			return r, nil
		case !p.Status.Active(), p.Forecast != nil && !p.Forecast.Discovering && p.Done() > 0:
			return r, nil
		}
	}
	return dryResult{}, ctx.Err()
}

func (a *App) printDryRun(results []dryResult) {
	n := narrator{style: a.style(a.Out), now: a.Now}
	for _, r := range results {
		if r.Forecast == nil {
			fmt.Fprintf(a.Out, "%s: %s (%s)\n", r.Login, r.Status, orDash(r.Reason))
			continue
		}
		fmt.Fprintf(a.Out, "%s: a complete collection takes %s calls\n", r.Login, count(r.Calls))
		for _, line := range n.forecast(*r.Forecast) {
			fmt.Fprintf(a.Out, "  %s\n", line)
		}
	}
}

func dryExit(results []dryResult) error {
	for _, r := range results {
		switch {
		case r.Paused:
			return &exitError{exitUnauthorized, errors.New(r.Login + ": " + r.Reason)}
		case r.Status == domain.RunFailed:
			return errors.New("the collection of " + r.Login + " would fail: " + r.Reason)
		}
	}
	return nil
}
