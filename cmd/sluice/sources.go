package main

import (
	"context"

	"sluice/internal/catalogue"
	"sluice/internal/cli"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/lifecycle"
	"sluice/internal/record"
	"sluice/internal/source"
	"sluice/internal/sources"
	"sluice/internal/state"
	"sluice/internal/wiring"
)

// added are the sources that somebody has added, as a process has them.
type added struct {
	o       cli.ServiceOptions
	opened  *catalogue.Opened
	lookout *catalogue.Lookout
	runner  *lifecycle.Runner
}

func newAdded(o cli.ServiceOptions) *added {
	return &added{o: o, lookout: catalogue.NewLookout(), runner: lifecycle.NewRunner()}
}

// open opens those that are in the store.
func (a *added) open(ctx context.Context, records record.Store) (_ []source.Source, err error) {
	var watch catalogue.Watch
	if a.o.Servers.Shared() {
		watch = a.lookout
	}
	beside := append(descriptions(), given(a.o)...)
	if a.opened, err = catalogue.Open(ctx, records, beside, watch, a.o.Log); err != nil {
		return nil, err
	}
	return a.opened.Sources, nil
}

// inferred is told of columns that were inferred; nil if the service is not opened again
// while it works.
func (a *added) inferred() func() {
	if !a.o.Renews {
		return nil
	}
	return a.lookout.Differ
}

// descriptions are those of all sources of the program.
func descriptions() (all []source.Description) {
	for _, r := range sources.All() {
		all = append(all, r.Description)
	}
	return all
}

// given are the sources of the files that the settings, or a command, name.
func given(o cli.ServiceOptions) (all []source.Description) {
	for _, r := range o.Declared {
		all = append(all, r.Description)
	}
	return all
}

// catalogue is what the API tells of sources.
func (a *added) catalogue(ctx context.Context, svc *wiring.Service) *catalogue.Catalogue {
	// What is told to other processes outlives the request that told it.
	telling := context.WithoutCancel(ctx)
	return catalogue.New(catalogue.Options{
		Records: svc.Records, BuiltIn: descriptions(), Set: a.o.Given, Opened: a.opened, Renews: a.o.Renews, Room: svc.Room, Alone: svc.Alone,
		Changed: func() {
			if svc.Signals != nil {
				svc.Signals.Announce(telling)
			}
			a.lookout.Differ()
		},
		Try: func(ctx context.Context, of, target, token string, use func(source.Source, string, catalogue.Permit) error) error {
			return svc.Engine.Trial(ctx, engine.Signup{Source: of, Login: target, Token: token}, use)
		},
		Accounts: func(ctx context.Context) (map[string]int, error) { return counted(ctx, svc.State) },
	})
}

// counted counts the accounts of each source, but for those that are purged.
func counted(ctx context.Context, store state.Accounts) (map[string]int, error) {
	all, err := store.Accounts(ctx)
	n := map[string]int{}
	for i := range all {
		if all[i].State != domain.AccountPurged {
			n[all[i].Source]++
		}
	}
	return n, err
}

// lookOut begins to look whether other processes changed what was added.
func (a *added) lookOut(ctx context.Context, svc *wiring.Service) {
	// It cannot fail: nothing is begun that could.
	_ = a.runner.Start(ctx, func(context.Context) error { return nil }, func(ctx, _ context.Context) {
		a.lookout.Run(ctx, svc.Records, a.opened, svc.Signals, a.o.Log)
	})
}

func (a *added) stop() { a.runner.Stop() }
