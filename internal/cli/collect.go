package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/domain"
	"sluice/internal/engine"
)

func (a *App) collect(o *options) *cobra.Command {
	var tokenFile string
	var dry bool
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
			requests, err := a.signups(logins, tokens)
			if err != nil {
				return err
			}
			o.quietly(c)
			if dry {
				return a.dryRun(c.Context(), o, requests)
			}
			err = a.collectAll(c.Context(), o, requests)
			if err != nil && c.Context().Err() != nil {
				return errInterrupted
			}
			return err
		},
	}
	c.Flags().StringVar(&tokenFile, "token-file", "", "file with one token, or with lines `login token`")
	c.Flags().BoolVar(&dry, "dry-run", false, "only find out what there is, and say what collecting it would take")
	return c
}

// errInterrupted is the end of a collection that was told to stop.
var errInterrupted = errors.New("interrupted; the same command goes on where it was")

// signups checks every login and finds its token before anything is begun.
// Logins that were given twice are collected once.
func (a *App) signups(logins []string, tokens tokens) ([]engine.Signup, error) {
	requests := make([]engine.Signup, 0, len(logins))
	seen := map[string]bool{}
	for _, login := range logins {
		if err := a.CheckLogin(login); err != nil {
			return nil, err
		}
		token, err := tokens.of(login)
		if err != nil {
			return nil, err
		}
		if name := strings.ToLower(login); !seen[name] {
			seen[name] = true
			requests = append(requests, engine.Signup{Source: "github", Login: login, Token: token})
		}
	}
	return requests, nil
}

func (a *App) collectAll(ctx context.Context, o *options, requests []engine.Signup) (err error) {
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
	last, err := a.follow(ctx, s, order)
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
	} else if err := a.printResults(sum); err != nil {
		return err
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
