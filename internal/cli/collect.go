package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/sources"
)

// collectCommand collects accounts and waits for the outcome.
type collectCommand struct{ *App }

func (a collectCommand) collect(o *options) *cobra.Command {
	var targetFile, sourceFile string
	var credentials credentialFlags
	var dry, unchecked bool
	var set []string
	from := sources.Collected()[0]
	c := &cobra.Command{
		Use:   "collect TARGET…",
		Short: "Collect accounts now, show progress, print their statistics",
		Long: "Collect everything about the given " + from.Title + " targets into the data folder: users and\n" +
			"organisations by their login, single repositories as OWNER/REPO. If it is\n" +
			"interrupted, the same command resumes where it stopped. The token comes from\n" +
			tokenVariable() + " or --token-file (one token, or lines: login token), or was stored by\n" +
			"`sluice account add`. " + from.Credential + "\n" + credentialHelp(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && targetFile == "" {
				return usage("collect needs at least one target, such as `sluice collect octocat` or `sluice collect golang/go`")
			}
			return nil
		},
		RunE: func(c *cobra.Command, logins []string) error {
			listed, err := readTargets(targetFile)
			if err != nil {
				return err
			}
			of, logins, err := sourceFinder(a).declaredSource(c.Context(), o, sourceFile, set, append(logins, listed...))
			if err != nil {
				return err
			}
			o.uncounted, o.setIsCarried = of != nil, of != nil && of.added
			// An account that was added has its token already.
			stored := !credentials.given() && !dry && a.mayHaveAccounts(o)
			requests, err := a.requests(c.Context(), o, of, logins, credentials, stored)
			if err != nil {
				return err
			}
			o.quietly(c)
			if dry {
				return a.dryRun(c.Context(), o, requests)
			}
			o.unchecked = unchecked || of != nil
			a.noteOf(of)
			err = a.collectAll(c.Context(), o, requests)
			if err != nil && c.Context().Err() != nil {
				return errInterrupted
			}
			return err
		},
	}
	credentials.register(c)
	c.Flags().StringVar(&targetFile, "targets", "", "`FILE` with a target on each line; # begins a comment")
	c.Flags().StringVar(&sourceFile, "source", "", "`FILE` that describes the source, or the name of one that comes with the program")
	c.Flags().StringArrayVar(&set, "set", nil, "`NAME=VALUE` of the source's config, or base=URL")
	c.Flags().BoolVar(&unchecked, "no-check", false, "do not ask what the token of a new account allows")
	c.Flags().BoolVar(&dry, "dry-run", false, "only discover what there is, and estimate what collecting it would take")
	return c
}

// noteOf says what collecting a source does not find, whatever its runs say.
func (a collectCommand) noteOf(of *collected) {
	if of == nil {
		return
	}
	for _, note := range of.file.NotFound() {
		say(a.screen, "note: %s\n", note)
	}
}

// readTargets reads the targets of a file, none if there is none.
func readTargets(file string) (targets []string, err error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usage("--targets: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		targets = append(targets, strings.Fields(line)...)
	}
	if len(targets) == 0 {
		return nil, usage("--targets: %s names no target", file)
	}
	return targets, nil
}

// errInterrupted is the end of a collection that was told to stop.
var errInterrupted error = &exitError{exitInterrupted, errors.New("interrupted; the same command resumes where it stopped")}

// requests are what is to be collected: accounts of a source of the program, or of one
// that a file describes.
func (a collectCommand) requests(ctx context.Context, o *options, of *collected, logins []string, credentials credentialFlags, stored bool) ([]engine.Signup, error) {
	if of == nil {
		tokens, err := a.tokens(ctx, o, credentials)
		if err != nil {
			return nil, err
		}
		return a.signups(ctx, o, logins, tokens, stored)
	}
	tokenFile, err := credentials.fileOnly()
	if err != nil {
		return nil, err
	}
	tokens, err := of.tokens(a.App, tokenFile)
	if err != nil {
		return nil, err
	}
	var all []engine.Signup
	for _, login := range logins {
		if err := of.check(login); err != nil {
			return nil, err
		}
		token, err := tokens.of(login)
		if err != nil && !stored {
			return nil, of.noToken(login)
		}
		signup := engine.Signup{Source: of.file.Name, Login: login, Token: token}
		if of.added {
			signup.Set = of.values
		}
		all = append(all, signup)
	}
	return all, nil
}

// signups checks every login and finds its token before anything is begun; those
// without one are left to what is stored, if that may be, or get the one that other
// programs have. Logins that were given twice are collected once.
func (a collectCommand) signups(ctx context.Context, o *options, logins []string, tokens tokens, stored bool) ([]engine.Signup, error) {
	requests := make([]engine.Signup, 0, len(logins))
	seen := map[string]bool{}
	for _, login := range logins {
		if err := a.CheckLogin(login); err != nil {
			// What was typed here may be named to whoever typed it.
			return nil, fmt.Errorf("%q: %w", login, err)
		}
		token, err := tokens.of(login)
		if err != nil && tokens.given {
			return nil, err
		}
		if err != nil && !stored {
			if tokens.all, err = a.borrowed(ctx, o, login); err != nil {
				return nil, err
			}
			token = tokens.all
		}
		if name := strings.ToLower(login); !seen[name] {
			seen[name] = true
			requests = append(requests, engine.Signup{Source: sources.Collected()[0].Name, Login: login, Token: token})
		}
	}
	return requests, nil
}

// collectAll collects in this process, or has it done by the one that holds the data
// folder; if that is a collection too and ends before, this one goes on. A service
// that ends does so because somebody wants it to, and may be started again: nobody
// takes its folder.
func (a collectCommand) collectAll(ctx context.Context, o *options, requests []engine.Signup) error {
	for {
		service := a.Holder != nil && !strings.Contains(a.Holder(o.Service.DataDir), collectHolder)
		s, err := a.connect(ctx, o, collectHolder, toWork)
		if err != nil {
			return err
		}
		err = a.collectOnce(ctx, s, o, requests)
		if err == nil || service || !a.handedOn(ctx, o, s, err) {
			return err
		}
		say(a.screen, "sluice: the process that collected has ended; going on here\n")
	}
}

// collectHolder is what a collection calls itself where it holds a data folder.
const collectHolder = "sluice collect"

func (a collectCommand) collectOnce(ctx context.Context, s *session, o *options, requests []engine.Signup) (err error) {
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	if err := o.refuseIgnored(s); err != nil {
		return err
	}
	if s.local != nil {
		stop := a.announce(ctx, o, s.local)
		defer func() { err = errors.Join(err, stop()) }()
	}
	return s.unlessFailed(ctx, func(ctx context.Context) error { return a.collectIn(ctx, s, o, requests) })
}

// collectIn collects accounts and prints what came of it.
func (a collectCommand) collectIn(ctx context.Context, s *session, o *options, requests []engine.Signup) error {
	order := make([]int64, len(requests))
	asked := map[string]bool{}
	for i, request := range requests {
		var err error
		if order[i], err = a.begin(ctx, s, o, request, asked); err != nil {
			return err
		}
	}
	a.showRunPage(o, s, order)
	last, err := a.follow(ctx, s, order, false)
	if err != nil {
		return err
	}
	sum := summarize(order, last)
	if err := sum.addLedgers(ctx, s); err != nil {
		return err
	}
	if o.uncounted {
		// There are no statistics of what nobody has said the meaning of.
		sum.uncounted = true
	} else if err := a.addStatistics(ctx, s, &sum); err != nil {
		return err
	}
	if o.json() {
		if err := printJSON(a.Out, sum); err != nil {
			return err
		}
	} else if err := a.printResults(sum); err != nil {
		return err
	}
	for _, r := range sum.Results {
		if r.FailedJobs > 0 || r.Ledger.Gaps > 0 {
			a.showPage(o, s, "/runs/%d shows what is missing of %s, and retries it", r.Run, r.Login)
		}
	}
	return sum.exit()
}

// begin begins to collect an account, or joins the run that is under way: with the
// token that was given, or with the one that is stored, or else with the one that
// other programs have. asked are the tokens that the upstream was asked about.
func (a collectCommand) begin(ctx context.Context, s *session, o *options, request engine.Signup, asked map[string]bool) (run int64, err error) {
	if request.Token != "" || request.Set != nil {
		return a.signup(ctx, s, o, request, asked)
	}
	account, err := s.Account(ctx, accountOf(request))
	if domain.CodeOf(err) == domain.CodeNotFound && request.Source != sources.Collected()[0].Name {
		return 0, noToken(request.Login)
	}
	if domain.CodeOf(err) == domain.CodeNotFound {
		if request.Token, err = a.borrowed(ctx, o, request.Login); err != nil {
			return 0, err
		}
		return a.signup(ctx, s, o, request, asked)
	}
	if err != nil {
		return 0, err
	}
	begun, err := s.StartRun(ctx, wire.RunRequest{AccountID: account.ID})
	if domain.CodeOf(err) != domain.CodeConflict || account.State != domain.AccountActive {
		return begun.ID, err
	}
	active, listing := s.Runs(ctx, client.RunFilter{Account: accountOf(request), Active: true, Page: client.Page{Limit: 1}})
	if listing != nil || len(active.Items) == 0 {
		return 0, errors.Join(err, listing)
	}
	return active.Items[0].ID, nil
}

// signup begins with a token. The first account of it that is new has the upstream asked
// what the token allows, which is said; what is not accepted shows in the run, which
// pauses the account.
func (a collectCommand) signup(ctx context.Context, s *session, o *options, request engine.Signup, asked map[string]bool) (run int64, err error) {
	if !o.unchecked && !asked[request.Token] {
		asked[request.Token] = true
		if _, err := s.Account(ctx, accountOf(request)); domain.CodeOf(err) == domain.CodeNotFound {
			answer, err := s.CheckedSignup(ctx, request)
			if err == nil && answer.Credential != nil && answer.Credential.Unchecked == "" {
				say(a.screen, "%s:\n", request.Login)
				sayAllowance(a.screen, answer.Credential)
			}
			if domain.CodeOf(err) != domain.CodeInvalid {
				return answer.Run.ID, err
			}
		}
	}
	answer, err := s.Signup(ctx, request)
	return answer.Run.ID, err
}

// accountOf is how an account is asked for: its login may be that of another source's.
func accountOf(request engine.Signup) string { return request.Source + ":" + request.Login }

func (a collectCommand) addStatistics(ctx context.Context, s *session, sum *summary) error {
	for i, r := range sum.Results {
		if r.Status != domain.RunCompleted {
			continue
		}
		run, err := s.RunProgress(ctx, r.Run)
		if err != nil {
			return err
		}
		statistics, err := s.Statistics(ctx, strconv.FormatInt(run.AccountID, 10))
		if err != nil {
			return err
		}
		sum.Results[i].Statistics = statistics
	}
	return nil
}
