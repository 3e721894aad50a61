package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source"
	"sluice/internal/stats"
)

// listLimit is how many rows a list shows on a page.
const listLimit = 50

// nextPage is the address of a list's next page; "" on the last.
func (s *site) nextPage(v *visit, cursor string) string {
	if cursor == "" {
		return ""
	}
	return s.Prefix + with(v.r.URL, "cursor", cursor)
}

func (s *site) accounts(ctx context.Context, v *visit) (*page, error) {
	d := struct {
		Rows                       []wire.AccountRow
		Source, State, Login, Next string
		Sources                    []source.Description
		Filtered                   bool
	}{Source: v.query("source"), State: v.query("state"), Login: v.query("login"), Sources: s.Sources}
	d.Filtered = d.Source != "" || d.State != "" || d.Login != "" || v.query("cursor") != ""
	var list wire.AccountList
	if d.Login != "" {
		var err error
		if list.Items, err = called(ctx, v, s.Sources, d.Login, d.Source, d.State); err != nil {
			return nil, err
		}
	} else {
		f := client.AccountFilter{Source: d.Source, Runs: true, Page: client.Page{Cursor: v.query("cursor"), Limit: listLimit}}
		if d.State != "" {
			f.States = []string{d.State}
		}
		var err error
		if list, err = v.Accounts(ctx, f); err != nil {
			return nil, err
		}
	}
	d.Rows = list.Items
	d.Next = s.nextPage(v, list.NextCursor)
	return &page{Title: "Accounts", Template: "accounts.html", Nav: "accounts", Stream: "/api/v1/events", Every: 10, Data: d}, nil
}

// called are the accounts that are called so, at one source or at any, in one state or
// in any; who is not known is an empty list.
func called(ctx context.Context, v *visit, of []source.Description, login, at, state string) (rows []wire.AccountRow, err error) {
	add := func(ref string) error {
		a, err := v.AccountDetail(ctx, ref)
		if err == nil && (at == "" || a.Source == at) && (state == "" || string(a.State) == state) {
			rows = append(rows, wire.AccountRow{Account: a.Account, LastRun: a.LastRun, NextRun: a.Schedule.Next})
		}
		if domain.CodeOf(err) == domain.CodeNotFound {
			err = nil
		}
		return err
	}
	if at != "" {
		return rows, add(at + ":" + login)
	}
	if err = add(login); domain.CodeOf(err) != domain.CodeConflict {
		return rows, err
	}
	// Several sources have it.
	for i := range of {
		if err = add(of[i].Name + ":" + login); err != nil {
			break
		}
	}
	return rows, err
}

// accountData is what the page of an account shows.
type accountData struct {
	wire.AccountDetail
	Rations []ration
	Runs    []domain.Run
	// Waits are what its run waits for, and Person why a person has to come.
	Waits  []engine.LaneWait
	Person string
	// Counted says that statistics count what its source has.
	Counted bool
	// Stats are nil before the first run has completed.
	Stats     *stats.Account
	Year      heat
	Languages []stats.Language
	Most      int64
	Kinds     []kindCount
	// Ledger is that of the last run: what is not known to be stored, and why.
	Ledger *wire.LedgerSummary
	// Repositories are those of its own that were pushed to last.
	Repositories []repository
	Unread       string
	// Cursors are up to when resources are collected, the oldest first; Hidden is how
	// many more there are.
	Cursors []wire.ResourceCursor
	Hidden  int
}

type kindCount struct {
	Kind string
	N    int64
}

func (s *site) account(ctx context.Context, v *visit) (*page, error) {
	ref := v.r.PathValue("id")
	detail, err := v.AccountDetail(ctx, ref)
	if err != nil {
		return nil, err
	}
	id := strconv.FormatInt(detail.ID, 10)
	d := &accountData{AccountDetail: detail, Counted: sourceCounts(s.Sources, detail.Source)}
	for _, w := range detail.Quota {
		d.Rations = append(d.Rations, ration{w, detail.Login})
	}
	if err := d.readWaits(ctx, v); err != nil {
		return nil, err
	}
	runs, err := v.Runs(ctx, client.RunFilter{Account: id, Page: client.Page{Limit: 10}})
	if err != nil {
		return nil, err
	}
	d.Runs = runs.Items
	if !d.Counted {
		// Every figure would be nothing, which says nothing of it.
	} else if of, err := v.AccountStats(ctx, id); err == nil {
		d.Stats, d.Year = &of, yearOf(of.Activity.ByDay, v.now)
		d.Languages = of.Languages[:min(len(of.Languages), 8)]
		for _, l := range d.Languages {
			d.Most = max(d.Most, l.Activities)
		}
	} else if domain.CodeOf(err) != domain.CodeNotFound {
		d.Unread = message(err)
	}
	for kind, n := range detail.Documents {
		d.Kinds = append(d.Kinds, kindCount{kind, n})
	}
	slices.SortFunc(d.Kinds, func(a, b kindCount) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Kind, b.Kind)) })
	if len(d.Runs) > 0 {
		if run, err := v.Run(ctx, d.Runs[0].ID, false); err == nil {
			d.Ledger = &run.LedgerSummary
		}
	}
	cursors, err := v.Cursors(ctx, id)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(cursors.Items, func(a, b wire.ResourceCursor) int { return a.At.Compare(b.At) })
	d.Cursors = cursors.Items[:min(len(cursors.Items), shownCursors)]
	d.Hidden = len(cursors.Items) - len(d.Cursors)
	d.Repositories = repositoriesOf(ctx, v, id, cursors.Items)
	return &page{Title: detail.Login, Template: "account.html", Nav: "accounts", Stream: "/api/v1/events", Every: 10, Data: d}, nil
}

// readWaits finds out what keeps the account from going on.
func (d *accountData) readWaits(ctx context.Context, v *visit) error {
	if d.State != domain.AccountActive {
		d.Person = "a person: it is " + string(d.State)
		return nil
	}
	if d.LastRun == nil || !d.LastRun.Status.Active() {
		return nil
	}
	run, err := v.RunProgress(ctx, d.LastRun.ID)
	d.Waits = run.Waits
	return err
}

// Idle says that only its schedule begins its next run.
func (d *accountData) Idle() bool {
	return d.State == domain.AccountActive && d.Schedule.Next != nil && (d.LastRun == nil || !d.LastRun.Status.Active())
}

// sourceCounts says whether statistics count what a source has; of one that is not known
// they may.
func sourceCounts(of []source.Description, name string) bool {
	known := slices.ContainsFunc(of, func(d source.Description) bool { return d.Name == name })
	return !known || stats.Counted(source.Kinds(of), name)
}

// shownCursors is how many cursors the page of an account shows.
const shownCursors = 30

// repository is a repository of an account; Until is up to when all of it is
// collected, zero if that is not known.
type repository struct {
	Name, Language, Stars, Pushed string
	Until                         time.Time
}

const (
	// readRepositories is among how many of the repositories that changed last those
	// are looked for that were pushed to last, and shownRepositories how many are shown.
	readRepositories, shownRepositories = 100, 15
)

// repositoriesOf are the repositories of an account that were pushed to last; none
// where the store cannot be asked.
func repositoriesOf(ctx context.Context, v *visit, account string, cursors []wire.ResourceCursor) (all []repository) {
	list, err := v.Documents(ctx, client.DocumentFilter{Kind: "repositories", Account: account, Deleted: "false", Sort: "-updated", Page: client.Page{Limit: readRepositories}})
	if err != nil {
		return nil
	}
	for _, raw := range list.Items {
		row := map[string]json.RawMessage{}
		if json.Unmarshal(raw, &row) != nil {
			return nil
		}
		r := repository{Name: value(row["full_name"]), Language: value(row["language"]), Stars: value(row["stars"]), Pushed: instantText(row["pushed_at"])}
		for _, c := range cursors {
			// The oldest counts: what came after it may be missing of something.
			if strings.HasSuffix(c.Resource, "repo:"+value(row["id"])) && (r.Until.IsZero() || c.At.Before(r.Until)) {
				r.Until = c.At
			}
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b repository) int { return cmp.Compare(b.Pushed, a.Pushed) })
	return all[:min(len(all), shownRepositories)]
}

// What buttons on accounts do.

func addAccount(ctx context.Context, v *visit, f url.Values) (string, error) {
	in := wire.SignupRequest{Source: f.Get("source"), Login: strings.TrimSpace(f.Get("login")), Token: strings.TrimSpace(f.Get("token"))}
	add := v.AddAccount
	if f.Get("start") != "" {
		add = func(ctx context.Context, in wire.SignupRequest) (wire.SignupAnswer, error) {
			return v.Signup(ctx, engine.Signup{Source: in.Source, Login: in.Login, Token: in.Token})
		}
	}
	answer, err := add(ctx, in)
	if err != nil {
		return "", err
	}
	f.Set("next", "/accounts/"+strconv.FormatInt(answer.Account.ID, 10))
	if answer.Run.ID != 0 {
		return answer.Account.Login + " is collected: run " + strconv.FormatInt(answer.Run.ID, 10), nil
	}
	return answer.Account.Login + " was added" + limitsOf(answer.Credential), nil
}

// limitsOf says what a credential does not allow.
func limitsOf(found *source.Allowance) string {
	switch {
	case found == nil:
		return ""
	case found.Unchecked != "":
		return ". What its token allows could not be found out: " + found.Unchecked
	case len(found.Limits) > 0:
		return ". Of its token: " + strings.Join(found.Limits, "; ")
	}
	return ""
}

func startRun(ctx context.Context, v *visit, f url.Values) (string, error) {
	id, err := strconv.ParseInt(f.Get("account"), 10, 64)
	if err != nil {
		return "", domain.Errorf(domain.CodeInvalid, "that is not an account")
	}
	run, err := v.StartRun(ctx, wire.RunRequest{AccountID: id, Priority: f.Get("priority")})
	if err != nil {
		return "", err
	}
	f.Set("next", "/runs/"+strconv.FormatInt(run.ID, 10))
	return "Run " + strconv.FormatInt(run.ID, 10) + " has begun", nil
}

func pauseAccount(ctx context.Context, v *visit, f url.Values) (string, error) {
	a, err := v.Pause(ctx, f.Get("account"), cmp.Or(f.Get("reason"), "paused on the dashboard"))
	return a.Login + " is paused", err
}

func resumeAccount(ctx context.Context, v *visit, f url.Values) (string, error) {
	a, err := v.Resume(ctx, f.Get("account"))
	return a.Login + " goes on", err
}

func renewToken(ctx context.Context, v *visit, f url.Values) (string, error) {
	token := strings.TrimSpace(f.Get("token"))
	a, err := v.SetAccount(ctx, f.Get("account"), wire.AccountSettings{Token: &token})
	return "The token of " + a.Login + " was renewed" + limitsOf(a.Credential), err
}

func setSchedule(ctx context.Context, v *visit, f url.Values) (string, error) {
	p := wire.Policy{
		Every: f.Get("every"), Cron: f.Get("cron"), Zone: f.Get("zone"), Quiet: f.Get("quiet"), AfterSuccess: f.Get("after_success"),
		AfterFailure: f.Get("after_failure"), AfterQuota: f.Get("after_quota"), Spread: f.Get("spread"),
	}
	if off := f.Get("off") != ""; off {
		p.Off = &off
	}
	plan, err := v.SetSchedule(ctx, f.Get("account"), p)
	return "The schedule of " + plan.Login + " was set", err
}

func purgeAccount(ctx context.Context, v *visit, f url.Values) (string, error) {
	// What the account is called is not for the form to say.
	account, err := v.Account(ctx, f.Get("account"))
	if err != nil {
		return "", err
	}
	if f.Get("typed") != account.Login {
		return "", domain.Errorf(domain.CodeInvalid, "nothing was removed: what was typed is not the account's name")
	}
	_, err = v.PurgeAccount(ctx, f.Get("account"), f.Get("cancel") != "")
	if err != nil && errors.Is(err, context.Canceled) {
		return "", domain.Errorf(domain.CodeUnavailable, "the purge was interrupted; it goes on by itself")
	}
	f.Set("next", "/accounts")
	return account.Login + " was removed, and everything that was kept of it", err
}
