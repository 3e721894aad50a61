package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/sources"
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
	var set []string
	c := &cobra.Command{Use: "set LOGIN", Short: "Renew an account's token, or set what is kept for its owner",
		Long: "Renew an account's token, or set what is kept for its owner. A paused account resumes with a\nnew token. " +
			"The upstream is asked with one call what it allows. --set says all values of its source's config\nthat are the account's own; " +
			"if they lead to another host the token must be given with them.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("`%s` takes one login or account id", c.CommandPath())
			}
			if f := c.Flags(); !f.Changed("keep") && !f.Changed("hours") && !f.Changed("set") && !from.given() {
				return usage("`%s` needs --token-file or another way to give a token, --set, --keep or --hours", c.CommandPath())
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
			if from.given() || len(set) > 0 {
				if err := a.renewed(c.Context(), o, from, args[0], set, &settings); err != nil {
					return err
				}
				settings.Check = checking(unchecked)
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
	c.Flags().StringArrayVar(&set, "set", nil, "`NAME=VALUE` of the source's config, or base=URL, for this account alone")
	c.Flags().IntVar(&keep, "keep", 0, "calls of each quota window; 0 means what --floor of the service says")
	c.Flags().StringVar(&hours, "hours", "", "a time of day, such as 09:00-18:00 or 09:00-18:00 Asia/Seoul; empty for none")
	return c
}

// renewed adds to settings the credential and the values that were given.
func (a accountCommands) renewed(ctx context.Context, o *options, from credentialFlags, account string, set []string, settings *wire.AccountSettings) error {
	of, login, err := sourceFinder(a).accountSource(ctx, o, sources.Collected()[0].Name, account, set)
	if err != nil {
		return err
	}
	token := ""
	switch {
	case of == nil:
		token, err = a.credential(ctx, o, from, account)
	case from.given():
		token, err = sourceFinder(a).tokenOf(of, from, login)
	}
	if of != nil {
		settings.Set = of.values
	}
	if token != "" {
		settings.Token = &token
	}
	return err
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
