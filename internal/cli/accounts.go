package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// accountCommands are those about accounts.
type accountCommands struct{ *App }

func (a accountCommands) accounts(o *options) *cobra.Command {
	return group("account", "Add, list, show, set, schedule, pause, resume, delete and purge accounts", a.accountAdd(o), a.accountList(o), a.accountShow(o),
		a.accountSet(o), a.accountSchedule(o), a.accountDelete(o), a.accountPurge(o),
		a.accountMove(o, "pause", "Pause an account: begin no more calls for it until it is resumed",
			func(ctx context.Context, s *session, login, reason string) (domain.Account, error) {
				return s.Pause(ctx, login, reason)
			}),
		a.accountMove(o, "resume", "Resume a paused account",
			func(ctx context.Context, s *session, login, _ string) (domain.Account, error) {
				return s.Resume(ctx, login)
			}))
}

func (a accountCommands) accountList(o *options) *cobra.Command {
	var f client.AccountFilter
	var state string
	var page paging
	c := &cobra.Command{Use: "list", Short: "List accounts", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			f.States = strings.FieldsFunc(strings.ToLower(state), func(r rune) bool { return r == ',' })
			return a.with(c.Context(), o, func(s *session) error {
				list, err := gather(page, func(p client.Page) (wire.AccountList, error) {
					f.Page = p
					return s.Accounts(c.Context(), f)
				})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				defer a.more(list.NextCursor)
				return table(a.Out, "ACCOUNT\tSOURCE\tLOGIN\tTARGET\tSTATE\tOWNER\tREASON", func(line func(string, ...any)) {
					for _, acc := range list.Items {
						line("%d\t%s\t%s\t%s\t%s\t%s\t%s", acc.ID, acc.Source, acc.Login, orDash(string(acc.Target)), acc.State, orDash(acc.Owner), orDash(acc.Reason))
					}
				})
			})
		}}
	c.Flags().StringVar(&f.Source, "source", "", "only of this source")
	c.Flags().StringVar(&state, "status", "", "only in these states, such as paused or deleted,purged")
	page.register(c)
	return c
}

func (a accountCommands) accountMove(o *options, verb, short string, move func(context.Context, *session, string, string) (domain.Account, error)) *cobra.Command {
	var reason string
	c := &cobra.Command{Use: verb + " LOGIN", Short: short,
		Args: oneAccount,
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				account, err := move(c.Context(), s, args[0], reason)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, account)
				}
				say(a.Out, "account %s is %s\n", account.Login, account.State)
				return nil
			})
		}}
	if verb == "pause" {
		c.Flags().StringVar(&reason, "reason", "paused by hand", "why, for those who look at it later")
	}
	return c
}

func (a accountCommands) accountSet(o *options) *cobra.Command {
	var keep int
	var hours string
	var from credentialFlags
	var unchecked bool
	c := &cobra.Command{Use: "set LOGIN", Short: "Renew an account's token, or set what is kept for its owner",
		Long: "Renew an account's token, or set what is kept for its owner. A paused account resumes with a\nnew token. " +
			"The upstream is asked with one call what it allows.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("`%s` takes one login or account id", c.CommandPath())
			}
			if f := c.Flags(); !f.Changed("keep") && !f.Changed("hours") && !from.given() {
				return usage("`%s` needs --token-file or another way to give a token, --keep or --hours", c.CommandPath())
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
			if from.given() {
				token, err := a.credential(c.Context(), o, from, args[0])
				if err != nil {
					return err
				}
				settings.Token, settings.Check = &token, checking(unchecked)
			}
			return a.changing(c.Context(), o, func(s *session) error {
				account, err := s.SetAccount(c.Context(), args[0], settings)
				if err != nil {
					return err
				}
				return a.showSettings(o, account, settings)
			})
		}}
	from.register(c)
	c.Flags().BoolVar(&unchecked, "no-check", false, "do not ask the upstream what a new token allows")
	c.Flags().IntVar(&keep, "keep", 0, "calls of each quota window; 0 means what --floor of the service says")
	c.Flags().StringVar(&hours, "hours", "", "a time of day, such as 09:00-18:00 or 09:00-18:00 Asia/Seoul; empty for none")
	return c
}

func (a accountCommands) showSettings(o *options, account wire.AccountAnswer, changed wire.AccountSettings) error {
	if o.json() {
		return printJSON(a.Out, account)
	}
	if changed.Token != nil {
		say(a.Out, "the token of %s is renewed; the account is %s\n", account.Login, account.State)
		sayAllowance(a.Out, account.Credential)
	}
	if changed.Floor != nil || changed.Hours != nil {
		say(a.Out, "the owner of %s keeps %d calls of each window, and the hours %s\n",
			account.Login, account.Floor, orDash(account.Hours.String()))
	}
	return nil
}
