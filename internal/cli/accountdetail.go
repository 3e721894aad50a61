package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/sources"
)

func (a accountCommands) accountAdd(o *options) *cobra.Command {
	var source string
	var from credentialFlags
	var unchecked bool
	var set []string
	c := &cobra.Command{Use: "add TARGET", Short: "Add an account without collecting it yet, or renew its token",
		Long: "Add an account without collecting it yet, or renew its token. " + credentialHelp() +
			"\nThe upstream is asked with one call what the token allows; what it does not is said. Accounts of\n" +
			"a source that was added are SOURCE:TARGET; --set says values of its config that are the account's.",
		Args: oneAccount,
		RunE: func(c *cobra.Command, args []string) error {
			request, err := sourceFinder(a).newAccount(c.Context(), o, from, source, args[0], set)
			if err != nil {
				return err
			}
			request.Check = checking(unchecked)
			return a.within(c.Context(), o, toBegin, func(s *session) error {
				added, err := s.AddAccount(c.Context(), request)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, wire.AccountAnswer{Account: added.Account, Credential: added.Credential})
				}
				say(a.Out, "account %d: %s at %s is %s; `sluice collect %s` collects it\n",
					added.Account.ID, added.Account.Login, added.Account.Source, added.Account.State, accountOf(engine.Signup{Source: added.Account.Source, Login: added.Account.Login}))
				sayAllowance(a.Out, added.Credential)
				return nil
			})
		}}
	from.register(c)
	c.Flags().BoolVar(&unchecked, "no-check", false, "do not ask the upstream what the token allows")
	c.Flags().StringVar(&source, "source", sources.Collected()[0].Name, "where the account is")
	c.Flags().StringArrayVar(&set, "set", nil, "`NAME=VALUE` of the source's config, or base=URL, for this account alone")
	return c
}

// newAccount is an account that is to be added, with its credential: of the first source,
// or of one that a file describes.
func (a sourceFinder) newAccount(ctx context.Context, o *options, from credentialFlags, source, target string, set []string) (wire.SignupRequest, error) {
	request := wire.SignupRequest{Source: source, Login: target}
	of, targets, err := a.accountSource(ctx, o, source, target, set)
	if err != nil {
		return request, err
	}
	if of == nil {
		request.Token, err = a.credential(ctx, o, from, target)
		return request, err
	}
	request.Source, request.Login, request.Set = of.file.Name, targets, of.values
	if err := of.check(request.Login); err != nil {
		return request, err
	}
	request.Token, err = a.tokenOf(of, from, request.Login)
	return request, err
}

// accountSource finds out which source of a file an account is of, by --source or by its
// name as SOURCE:TARGET; it is nil for the first source.
func (a sourceFinder) accountSource(ctx context.Context, o *options, source, target string, set []string) (*collected, string, error) {
	name, rest, named := strings.Cut(target, ":")
	if first := sources.Collected()[0].Name; source != first {
		name, rest, named = source, target, true
	}
	if named {
		if of, err := a.knownSource(ctx, o, name, set); of != nil || err != nil {
			return of, rest, err
		}
	}
	if len(set) > 0 {
		return nil, "", usage("--set is for a source that a file describes, as in SOURCE:TARGET")
	}
	return nil, target, nil
}

// tokenOf is the credential for an account of a source that a file describes; what
// stands for one where there is none to give.
func (a sourceFinder) tokenOf(of *collected, from credentialFlags, login string) (string, error) {
	file, err := from.fileOnly()
	if err != nil {
		return "", err
	}
	tokens, err := of.tokens(a.App, file)
	if err != nil {
		return "", err
	}
	token, err := tokens.of(login)
	if err != nil {
		return "", of.noToken(login)
	}
	return token, nil
}

func (a accountCommands) accountShow(o *options) *cobra.Command {
	return &cobra.Command{Use: "show LOGIN", Short: "Show an account: its state, quota, schedule, last run, documents and what it waits for", Args: oneAccount,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				d, err := s.AccountDetail(c.Context(), args[0])
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, d)
				}
				return a.printAccount(d)
			})
		}}
}

func (a accountCommands) printAccount(d wire.AccountDetail) error {
	say(a.Out, "account %d: %s at %s is %s\n", d.ID, d.Login, d.Source, d.State)
	if d.Target != "" {
		say(a.Out, "  it is a %s\n", d.Target)
	}
	if d.Reason != "" {
		say(a.Out, "  %s\n", d.Reason)
	}
	say(a.Out, "  added %s, changed %s\n", when(d.CreatedAt), when(d.UpdatedAt))
	for _, name := range slices.Sorted(maps.Keys(d.Set)) {
		say(a.Out, "  set %s=%s\n", name, d.Set[name])
	}
	if d.CredentialFor != "" {
		say(a.Out, "  its credential is for %s\n", d.CredentialFor)
	}
	say(a.Out, "  owner %s keeps %d calls of each window, and the hours %s\n", orDash(d.Owner), d.Floor, orDash(d.Hours.String()))
	for _, w := range d.Quota {
		say(a.Out, "    %s: %s used, %s left, resets %s%s\n", w.Bucket, count(int64(w.Used)), count(int64(w.Available)), when(w.Reset), parkedNote(w))
	}
	say(a.Out, "  schedule: %s\n", policyText(d.Schedule.Policy))
	if n := d.Schedule.Next; n != nil {
		say(a.Out, "    next %s, %s priority: %s\n", when(n.At), n.Priority, n.Reason)
	}
	if r := d.LastRun; r != nil {
		say(a.Out, "  last run %d: %s, started %s, ended %s, %s calls, %s failed\n", r.ID, r.Status, when(r.CreatedAt), when(r.FinishedAt), count(r.Calls), count(r.Failed))
	} else {
		fmt.Fprintln(a.Out, "  it was never collected")
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(d.Documents)) {
		parts = append(parts, count(d.Documents[kind])+" "+kind)
	}
	say(a.Out, "  documents: %s\n", orDash(strings.Join(parts, ", ")))
	for _, wait := range d.WaitsFor {
		say(a.Out, "  waits for %s\n", wait)
	}
	return nil
}

func parkedNote(w wire.QuotaWindow) string {
	if w.Parked == "" {
		return ""
	}
	return fmt.Sprintf("; parked until %s: %s", when(w.ParkedUntil), parkedText(w.Window))
}

func (a accountCommands) accountPurge(o *options) *cobra.Command {
	var yes, cancel bool
	c := &cobra.Command{Use: "purge LOGIN", Short: "Remove everything of an account from every store, for good",
		Long: "Remove everything of an account from every store, for good: its documents, runs, jobs, cursors,\n" +
			"statistics and schedule. What is left is a number without a name, so that a call that was under\n" +
			"way writes nothing. A purge that was interrupted goes on when it is asked for again, or with the\n" +
			"next start of the service. The audit log keeps the login that was purged, and who asked for it.\n" +
			"`sluice account delete` only stops collecting.",
		Args: oneAccount,
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				account, err := s.Account(c.Context(), args[0])
				if err != nil {
					return err
				}
				if err := a.confirm(yes, account); err != nil {
					return err
				}
				purged, err := s.PurgeAccount(c.Context(), args[0], cancel)
				if err != nil {
					return err
				}
				if err := a.printPurged(o, account, purged); err != nil {
					return err
				}
				return a.tellSinks(c.Context(), o, s)
			})
		}}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&cancel, "cancel", false, "also cancel the account's active run")
	return c
}

// confirm has a person type the name of what is about to be removed for good.
func (a accountCommands) confirm(yes bool, account domain.Account) error {
	if yes {
		return nil
	}
	in, ok := a.In.(*os.File)
	if !ok || terminalSize(in).width == 0 {
		return usage("this removes everything of %s for good: say --yes, or ask on a terminal", account.Login)
	}
	say(a.screen, "This removes everything of %s at %s for good. Type the login to go on: ", account.Login, account.Source)
	typed, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && typed == "" {
		return err
	}
	if !strings.EqualFold(strings.TrimSpace(typed), account.Login) {
		return usage("that is not %s; nothing was removed", account.Login)
	}
	return nil
}

func (a accountCommands) printPurged(o *options, account domain.Account, purged wire.PurgeAnswer) error {
	if o.json() {
		return printJSON(a.Out, purged)
	}
	say(a.Out, "account %d, %s, is purged\n", account.ID, account.Login)
	for _, kind := range purged.Removed.Kinds() {
		say(a.Out, "  %s %s\n", count(purged.Removed[kind]), kind)
	}
	return nil
}

// tellSinks says of which sinks the account's rows are yet to be removed.
func (a accountCommands) tellSinks(ctx context.Context, o *options, s *session) error {
	list, err := s.Sinks(ctx)
	if err != nil || o.json() || len(list.Items) == 0 {
		return err
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	say(a.Out, "its rows in the sinks (%s) are removed as these follow; `sluice sink list` shows how far they are\n", strings.Join(names, ", "))
	return nil
}

// standardInput stands for it in the place of a file's name.
const standardInput = "-"

// mostOfToken bounds what is read of a file with tokens.
const mostOfToken = 16 << 20

// readSecrets reads a file with tokens, or the standard input, and warns of a file
// that others can read.
func (a *App) readSecrets(file string) ([]byte, error) {
	if file == standardInput {
		if a.In == nil {
			return nil, usage("--token-file -: there is no standard input")
		}
		return io.ReadAll(io.LimitReader(a.In, mostOfToken))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 && info.Mode().IsRegular() {
		say(a.screen, "sluice: warning: others can read %s (mode %04o); `chmod 600 %s` keeps its tokens to you\n", file, info.Mode().Perm(), file)
	}
	return io.ReadAll(io.LimitReader(f, mostOfToken))
}
