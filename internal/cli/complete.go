package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/internal/access"
	"sluice/internal/client"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/sources"
)

// Whoever presses the tab key waits for completePatience at most, and is offered
// mostOffered.
const (
	completePatience = time.Second
	mostOffered      = 100
)

// offer lists what a word may become, as the word or as "word\tremark".
type offer func(ctx context.Context, s *session) ([]string, error)

func offerRuns(ctx context.Context, s *session) (words []string, err error) {
	list, err := s.Runs(ctx, client.RunFilter{Page: client.Page{Limit: mostOffered}})
	for _, r := range list.Items {
		words = append(words, fmt.Sprintf("%d\t%s, %s", r.ID, r.Login, r.Status))
	}
	return words, err
}

func offerJobs(ctx context.Context, s *session) (words []string, err error) {
	list, err := s.Jobs(ctx, client.JobFilter{Page: client.Page{Limit: mostOffered}})
	for _, j := range list.Items {
		words = append(words, fmt.Sprintf("%d\t%s, %s", j.ID, j.Type, j.Status))
	}
	return words, err
}

func offerLogins(ctx context.Context, s *session) (words []string, err error) {
	list, err := s.Accounts(ctx, client.AccountFilter{Page: client.Page{Limit: mostOffered}})
	for _, a := range list.Items {
		words = append(words, fmt.Sprintf("%s\t%s, %s", a.Login, a.Source, a.State))
	}
	return words, err
}

// dynamic are the commands whose first argument can be offered.
var dynamic = map[string]offer{
	"run show": offerRuns, "run watch": offerRuns, "run cancel": offerRuns, "run resume": offerRuns, "run priority": offerRuns,
	"job show": offerJobs, "job retry": offerJobs,
	"account set": offerLogins, "account show": offerLogins, "account schedule": offerLogins, "account delete": offerLogins, "account pause": offerLogins,
	"account resume": offerLogins, "account purge": offerLogins, "stats": offerLogins, "collect": offerLogins,
}

// dynamicFlags are flags whose values can be offered, in whatever command.
var dynamicFlags = map[string]offer{"account": offerLogins, "run": offerRuns}

// fixed are flags whose values are known, by "command flag" or by the flag alone.
func fixed(path, flag string) []string {
	switch path + " " + flag {
	case "job list status":
		return []string{"READY", "RUNNING", "SUCCEEDED", "FAILED", "PAUSED", "CANCELED"}
	case "run list status":
		return []string{"CREATED", "PLANNING", "RUNNING", "FINALIZING", "COMPLETED", "FAILED", "CANCELED"}
	case "timer list status":
		return []string{"WAITING", "DELIVERING", "COMPLETED", "DEAD", "CANCELED"}
	case "export kind":
		return export.Kinds(sources.Kinds())
	case "changes kind":
		return sources.Kinds().Tables()
	case "doc list sort":
		return []string{"name", "created", "updated", "-name", "-created", "-updated"}
	case "doc list deleted":
		return []string{"true", "false"}
	case "doc list format":
		return sqlFormats
	case "export format":
		return []string{"jsonl", "csv", "parquet"}
	}
	switch flag {
	case "output":
		return []string{"text", "json"}
	case "log-level":
		return []string{"debug", "info", "warn", "error"}
	case "error":
		return strings.Split(domain.FailureKindNames(), ", ")
	case "role":
		return []string{string(access.Read), string(access.Operate), string(access.Admin)}
	case "roles":
		return config.AllRoles()
	case "timer-trigger":
		return []string{config.TriggerDueSet, config.TriggerKeyspace}
	}
	return nil
}

// completions lets a shell complete what a command takes.
func (a *App) completions(c *cobra.Command, o *options, known func() []string) {
	path := pathOf(c)
	if list, ok := dynamic[path]; ok && c.ValidArgsFunction == nil {
		ask := a.asking(o, known, list)
		c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 && path != "collect" {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return ask(c, args, word)
		}
	}
	for _, name := range ownFlags(c) {
		words := fixed(path, name)
		ask, asked := dynamicFlags[name]
		// What has completions already keeps them: that is the only error there is.
		switch {
		case words != nil:
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		case asked:
			_ = c.RegisterFlagCompletionFunc(name, a.asking(o, known, ask))
		}
	}
}

// asking asks a service for what can be offered. Whatever goes wrong, nothing is
// offered: nobody wants to read of it while typing.
func (a *App) asking(o *options, known func() []string, list offer) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		ctx, end := context.WithTimeout(context.WithoutCancel(c.Context()), completePatience)
		defer end()
		// Whoever waits does so no longer than that, whatever it waits for.
		found := make(chan []string, 1)
		go func() { found <- a.offered(ctx, c, o, known(), list) }()
		select {
		case words := <-found:
			return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, word) }), cobra.ShellCompDirectiveNoFileComp
		case <-ctx.Done():
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

func (a *App) offered(ctx context.Context, c *cobra.Command, o *options, known []string, list offer) (words []string) {
	if a.load(c, o, known) != nil {
		return nil
	}
	o.Log.Level = "error"
	if a.with(ctx, o, func(s *session) (err error) {
		words, err = list(ctx, s)
		return err
	}) != nil {
		return nil
	}
	return words
}

// ownFlags are the flags of a command itself.
func ownFlags(c *cobra.Command) (names []string) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
