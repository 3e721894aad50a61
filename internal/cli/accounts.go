package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/internal/domain"
)

func (a *App) accounts(o *options) *cobra.Command {
	return group("account", "List, pause and resume accounts", a.accountList(o),
		a.accountMove(o, "pause", "Begin no more calls for an account until it is resumed",
			func(ctx context.Context, s *session, login, reason string) (domain.Account, error) {
				return s.Pause(ctx, login, reason)
			}),
		a.accountMove(o, "resume", "Let a paused account go on",
			func(ctx context.Context, s *session, login, _ string) (domain.Account, error) {
				return s.Resume(ctx, login)
			}))
}

func (a *App) accountList(o *options) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List accounts", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				accounts, err := s.Accounts(c.Context())
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, accounts)
				}
				return table(a.Out, "ACCOUNT\tSOURCE\tLOGIN\tSTATE\tOWNER\tREASON", func(line func(string, ...any)) {
					for _, acc := range accounts {
						line("%d\t%s\t%s\t%s\t%s\t%s", acc.ID, acc.Source, acc.Login, acc.State, acc.Owner, orDash(acc.Reason))
					}
				})
			})
		}}
}

func (a *App) accountMove(o *options, verb, short string, move func(context.Context, *session, string, string) (domain.Account, error)) *cobra.Command {
	var reason string
	c := &cobra.Command{Use: verb + " LOGIN", Short: short,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("`%s` takes one login or account id", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				account, err := move(c.Context(), s, args[0], reason)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, account)
				}
				fmt.Fprintf(a.Out, "account %s is %s\n", account.Login, account.State)
				return nil
			})
		}}
	if verb == "pause" {
		c.Flags().StringVar(&reason, "reason", "paused by hand", "why, for whoever looks at it later")
	}
	return c
}
