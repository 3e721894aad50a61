package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

func (a *App) accounts(o *options) *cobra.Command {
	return group("account", "List, set, schedule, pause, resume and delete accounts", a.accountList(o), a.accountSet(o),
		a.accountSchedule(o), a.accountDelete(o),
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
		Args: oneAccount,
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

func (a *App) accountSet(o *options) *cobra.Command {
	var keep int
	var hours string
	c := &cobra.Command{Use: "set LOGIN", Short: "Set what the owner of an account keeps for himself",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("`%s` takes one login or account id", c.CommandPath())
			}
			if !c.Flags().Changed("keep") && !c.Flags().Changed("hours") {
				return usage("`%s` needs --keep or --hours", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			var settings wire.AccountSettings
			if c.Flags().Changed("keep") {
				settings.Floor = &keep
			}
			if c.Flags().Changed("hours") {
				settings.Hours = &hours
			}
			return a.with(c.Context(), o, func(s *session) error {
				account, err := s.SetAccount(c.Context(), args[0], settings)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, account)
				}
				fmt.Fprintf(a.Out, "the owner of %s keeps %d calls of each window, and the hours %s\n",
					account.Login, account.Floor, orDash(account.Hours.String()))
				return nil
			})
		}}
	c.Flags().IntVar(&keep, "keep", 0, "calls of each quota window; 0 is what --floor says")
	c.Flags().StringVar(&hours, "hours", "", "a time of day, such as 09:00-18:00 or 09:00-18:00 Asia/Seoul; empty for none")
	return c
}
