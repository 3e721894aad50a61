package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/internal/domain"
	"sluice/internal/engine"
)

func (a *App) collect(o *options) *cobra.Command {
	var tokenFile string
	c := &cobra.Command{
		Use:   "collect LOGIN…",
		Short: "Collect accounts now, show progress, print their statistics",
		Long: "Collect everything about the given GitHub accounts into the data folder. If it is\n" +
			"interrupted, the same command goes on where it was. The token comes from\n" +
			"SLUICE_GITHUB_TOKEN or --token-file (one token, or lines `login token`).",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("collect needs at least one login, such as `sluice collect octocat`")
			}
			return nil
		},
		RunE: func(c *cobra.Command, logins []string) error {
			tokens, err := a.readTokens(tokenFile)
			if err != nil {
				return err
			}
			return a.collectAll(c.Context(), o, logins, tokens)
		},
	}
	c.Flags().StringVar(&tokenFile, "token-file", "", "file with one token, or with lines `login token`")
	return c
}

func (a *App) collectAll(ctx context.Context, o *options, logins []string, tokens tokens) (err error) {
	// Tokens are looked up first: nothing is begun that cannot be finished.
	requests := make([]engine.Signup, len(logins))
	for i, login := range logins {
		token, err := tokens.of(login)
		if err != nil {
			return err
		}
		requests[i] = engine.Signup{Source: "github", Login: login, Token: token}
	}
	s, err := a.connect(ctx, o, "sluice collect", true)
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
	last, err := a.follow(ctx, s, o, order)
	if err != nil {
		return err
	}
	sum := summarize(order, last)
	if err := a.addStatistics(ctx, s, &sum); err != nil {
		return err
	}
	if o.json() {
		if err := printJSON(a.Out, sum); err != nil {
			return err
		}
	} else {
		a.printResults(sum)
	}
	return sum.exit()
}

func (a *App) addStatistics(ctx context.Context, s *session, sum *summary) error {
	for i, r := range sum.Results {
		if r.Status != domain.RunCompleted {
			continue
		}
		statistics, err := s.Statistics(ctx, r.Login)
		if err != nil {
			return err
		}
		sum.Results[i].Statistics = statistics
	}
	return nil
}

func (a *App) printResults(sum summary) {
	for _, r := range sum.Results {
		fmt.Fprintf(a.Out, "%s: %s, %s documents with %s calls", r.Login, r.Status, count(r.Documents), count(r.Calls))
		if r.Reason != "" {
			fmt.Fprintf(a.Out, " (%s)", r.Reason)
		}
		fmt.Fprintln(a.Out)
	}
}
