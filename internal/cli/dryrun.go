package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
)

// dryRun finds out, with discovery alone, what collecting would take. Its calls
// are counted where those of a collection are. Where nothing was collected yet it
// works in a folder of its own, which it removes.
func (a collectCommand) dryRun(ctx context.Context, o *options, requests []engine.Signup) (err error) {
	dry := *o
	if _, missing := os.Stat(o.Service.DataDir); o.Server == "" && !o.Servers.Shared() && (errors.Is(missing, fs.ErrNotExist) || !a.hasData(o.Service.DataDir)) {
		if dry.Service.DataDir, err = os.MkdirTemp("", "sluice-dry-run"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dry.Service.DataDir)) }()
	}
	s, err := a.connect(ctx, &dry, "sluice collect --dry-run", toAdd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	if err := o.refuseIgnored(s); err != nil {
		return err
	}
	results := make([]engine.DryRun, len(requests))
	for i, r := range requests {
		if results[i], err = s.DryRun(ctx, wire.DryRunRequest{Source: r.Source, Login: r.Login, Token: r.Token}); err != nil {
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
	return dryExit(results, narrator{now: a.Now})
}

func (a collectCommand) printDryRun(results []engine.DryRun) {
	n := narrator{style: a.style(a.Out), now: a.Now}
	for _, r := range results {
		if r.Failure != "" {
			say(a.Out, "%s: would fail (%s)\n", r.Login, r.Failure)
			continue
		}
		about := ""
		if r.Forecast.Discovering {
			about = "about "
		}
		say(a.Out, "%s: %s repositories found; collecting takes %s%s calls\n", r.Login, count(int64(r.Repositories)), about, count(r.Calls))
		for _, j := range r.Jobs {
			say(a.Out, "  %s: %s calls\n", strings.ToLower(strings.ReplaceAll(j.Type, "_", " ")), count(j.Calls))
		}
		for _, line := range n.forecast(*r.Forecast) {
			say(a.Out, "  %s\n", line)
		}
	}
}

func dryExit(results []engine.DryRun, n narrator) error {
	for _, r := range results {
		switch {
		case r.Refused:
			return &exitError{exitUnauthorized, errors.New(r.Login + ": " + r.Failure)}
		case r.Failure != "":
			return errors.New("the collection of " + r.Login + " would fail: " + r.Failure)
		case r.Wait != nil:
			text := n.waitText(engine.Progress{Waits: []engine.LaneWait{*r.Wait}})
			return fmt.Errorf("%s: not everything can be discovered now: it %s; try again then", r.Login, text)
		}
	}
	return nil
}
