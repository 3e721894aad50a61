package httpapi

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source"
	"sluice/internal/state"
)

// accountRoutes serve accounts.
type accountRoutes struct {
	*common
	accountFinder
	Lists        ListReader
	Reader       AccountReader
	Orchestrator AccountKeeper
	Schedules    Scheduler
}

func (s *accountRoutes) registerAccounts(api huma.API) {
	const tag = "accounts"
	register(s, api, operation{id: "signup", method: http.MethodPost, path: "/api/v1/accounts", tag: tag,
		summary: "Add an account, or renew its credential, and start its first run", status: http.StatusCreated,
		errors: []int{http.StatusConflict, http.StatusUnprocessableEntity}}, s.signup)
	register(s, api, operation{id: "list-accounts", method: http.MethodGet, path: "/api/v1/accounts", tag: tag,
		summary: "List the accounts in the order of their ids", errors: []int{http.StatusUnprocessableEntity}}, s.listAccounts)
	register(s, api, operation{id: "set-account", method: http.MethodPatch, path: "/api/v1/accounts/{id}", tag: tag,
		summary: "Set what the account's owner keeps back, or renew its credential",
		errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}}, s.setAccount)
	register(s, api, operation{id: "pause-account", method: http.MethodPost, path: "/api/v1/accounts/{id}/pause", tag: tag,
		summary: "Pause an account: begin no more calls for it", errors: []int{http.StatusNotFound}}, s.pauseAccount)
	register(s, api, operation{id: "resume-account", method: http.MethodPost, path: "/api/v1/accounts/{id}/resume", tag: tag,
		summary: "Resume a paused account", errors: []int{http.StatusNotFound}}, s.resumeAccount)
	register(s, api, operation{id: "get-statistics", method: http.MethodGet, path: "/api/v1/accounts/{id}/statistics", tag: tag,
		summary: "Show the statistics of an account's newest complete run", errors: []int{http.StatusNotFound}}, s.getStatistics)
}

// accountRef names an account in a path.
type accountRef struct {
	ID     string `path:"id" maxLength:"200" doc:"The account's id or its login"`
	Source string `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
}

// accountFinder finds accounts by what callers call them.
type accountFinder struct {
	accounts AccountReader
	// everywhere are the sources at which a login is looked up that comes without one.
	everywhere []string
}

// account finds an account by id or login. Digits are an id first, as logins
// of digits alone are rare.
func (f accountFinder) account(ctx context.Context, ref, source string) (domain.Account, error) {
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil {
		a, err := f.accounts.Account(ctx, id)
		if domain.CodeOf(err) != domain.CodeNotFound {
			return a, err
		}
	}
	return f.named(ctx, ref, source)
}

// named finds an account by its login, or by SOURCE:LOGIN. A login without a source is
// looked up at all of them, and has to be one account's alone.
func (f accountFinder) named(ctx context.Context, ref, source string) (domain.Account, error) {
	at, login, prefixed := strings.Cut(ref, ":")
	if prefixed && source == "" {
		// No login has a colon, but for those of accounts that are gone.
		if a, err := f.accounts.AccountByLogin(ctx, at, login); domain.CodeOf(err) != domain.CodeNotFound {
			return a, err
		}
	}
	where, place := f.everywhere, "any source"
	if source != "" {
		where, place = []string{source}, shownName(source)
	}
	var found []domain.Account
	for _, at := range where {
		a, err := f.accounts.AccountByLogin(ctx, at, ref)
		if err == nil {
			found = append(found, a)
		} else if domain.CodeOf(err) != domain.CodeNotFound {
			return a, err
		}
	}
	if there := slices.DeleteFunc(slices.Clone(found), func(a domain.Account) bool { return a.State.Gone() }); len(there) > 0 {
		found = there
	}
	switch len(found) {
	case 0:
		if prefixed && source == "" {
			ref, place = login, shownName(at)
		}
		return domain.Account{}, domain.Errorf(domain.CodeNotFound, "there is no account %s at %s; POST /api/v1/accounts adds one", shownName(ref), place)
	case 1:
		return found[0], nil
	}
	var names []string
	for i := range found {
		names = append(names, qualified(&found[i]))
	}
	return domain.Account{}, domain.Errorf(domain.CodeConflict, "several sources have an account %s: say which, one of %s", shownName(ref), strings.Join(names, ", "))
}

// qualified is the name of an account that no other has.
func qualified(a *domain.Account) string { return a.Source + ":" + a.Login }

type setAccountInput struct {
	ID     string `path:"id" maxLength:"200" doc:"The account's id or its login"`
	Source string `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Body   wire.AccountSettings
}

func (s *accountRoutes) setAccount(ctx context.Context, in *setAccountInput) (*body[wire.AccountAnswer], error) {
	account, err := s.account(ctx, in.ID, in.Source)
	if err != nil {
		return nil, err
	}
	floor, hours := account.Floor, account.Hours
	if in.Body.Floor != nil {
		floor = *in.Body.Floor
	}
	if in.Body.Hours != nil {
		if hours, err = domain.ParseHours(*in.Body.Hours); err != nil {
			return nil, err
		}
	}
	var found *source.Allowance
	if in.Body.Token != nil || in.Body.Set != nil {
		renewed := engine.Signup{Source: account.Source, Login: account.Login, Set: in.Body.Set}
		if in.Body.Token != nil {
			access.About(ctx, "with a new credential")
			renewed.Token = *in.Body.Token
		}
		access.About(ctx, aboutSet(in.Body.Set))
		if found, err = s.inspect(ctx, renewed, in.Body.Token != nil && (in.Body.Check == nil || *in.Body.Check)); err != nil {
			return nil, err
		}
		if _, err = s.Orchestrator.PutAccount(ctx, renewed); err != nil {
			return nil, err
		}
		// It may belong to another owner, who keeps what he kept.
		if account, err = s.Reader.Account(ctx, account.ID); err != nil {
			return nil, err
		}
	}
	if in.Body.Floor == nil && in.Body.Hours == nil {
		return &body[wire.AccountAnswer]{wire.AccountAnswer{Account: account, Credential: found}}, nil
	}
	account, err = s.Orchestrator.ReserveForOwner(ctx, account.ID, floor, hours)
	return &body[wire.AccountAnswer]{wire.AccountAnswer{Account: account, Credential: found}}, err
}

// inspect asks what a credential allows, if that is wanted.
func (s *accountRoutes) inspect(ctx context.Context, signup engine.Signup, wanted bool) (*source.Allowance, error) {
	if !wanted {
		return nil, nil
	}
	found, err := s.Orchestrator.Inspect(ctx, signup)
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// aboutSet says which values are set.
func aboutSet(set map[string]string) (text string) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		text += " " + name + "=" + set[name]
	}
	return text
}

type signupOutput struct {
	Status int
	Body   wire.SignupAnswer
}

func (s *accountRoutes) signup(ctx context.Context, in *body[wire.SignupRequest]) (*signupOutput, error) {
	req := in.Body
	access.About(ctx, req.Source+"/"+req.Login+aboutSet(req.Set))
	signup := engine.Signup{Source: req.Source, Login: req.Login, Token: req.Token, Set: req.Set}
	later := req.Start != nil && !*req.Start
	found, err := s.inspect(ctx, signup, req.Check == nil && later || req.Check != nil && *req.Check)
	if err != nil {
		return nil, err
	}
	if later {
		account, err := s.Orchestrator.PutAccount(ctx, signup)
		return &signupOutput{http.StatusCreated, wire.SignupAnswer{Account: account, Credential: found}}, err
	}
	account, run, err := s.Orchestrator.Signup(ctx, signup)
	if domain.CodeOf(err) == domain.CodeConflict && run.ID != 0 {
		// The account has an active run, which goes on with the new credential.
		return &signupOutput{http.StatusOK, wire.SignupAnswer{Account: account, Run: run, Credential: found}}, nil
	}
	if err != nil {
		return nil, err
	}
	return &signupOutput{http.StatusCreated, wire.SignupAnswer{Account: account, Run: run, Started: true, Credential: found}}, nil
}

type listAccountsInput struct {
	Source string   `query:"source" maxLength:"50" doc:"Only of this source"`
	State  []string `query:"state" enum:"active,paused,deleted,purged" doc:"Only in these states, separated by commas; all but purged unless given"`
	Cursor string   `query:"cursor" maxLength:"100" doc:"Where an earlier page ended"`
	Limit  int      `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
	With   string   `query:"with" enum:"runs" doc:"runs adds the newest run of each account and when the next begins"`
}

func (s *accountRoutes) listAccounts(ctx context.Context, in *listAccountsInput) (*body[wire.AccountList], error) {
	q := state.AccountList{Source: in.Source, Limit: in.Limit}
	for _, name := range in.State {
		q.States = append(q.States, domain.AccountState(name))
	}
	if len(q.States) == 0 {
		q.States = []domain.AccountState{domain.AccountActive, domain.AccountPaused, domain.AccountDeleted}
	}
	var err error
	if q.After, err = position(in.Cursor, 0); err != nil {
		return nil, err
	}
	page, err := s.Lists.ListAccounts(ctx, q)
	list := listOf(page, func(a domain.Account) wire.AccountRow { return wire.AccountRow{Account: a} })
	if err == nil && in.With != "" {
		err = s.addRuns(ctx, list.Items)
	}
	return &body[wire.AccountList]{list}, err
}

// addRuns tells of accounts how their newest run is and when the next begins.
func (s *accountRoutes) addRuns(ctx context.Context, rows []wire.AccountRow) error {
	for i := range rows {
		row := &rows[i]
		newest, err := s.Lists.ListRuns(ctx, state.RunList{AccountID: row.ID, Limit: 1})
		if err != nil {
			return err
		}
		if len(newest.Items) > 0 {
			row.LastRun = &newest.Items[0]
		}
		if row.LastRun != nil && row.LastRun.Status.Active() {
			continue
		}
		_, harvest, err := s.Schedules.Schedule(ctx, row.ID)
		if err != nil {
			return err
		}
		if !harvest.At.IsZero() {
			row.NextRun = &harvest
		}
	}
	return nil
}

type pauseInput struct {
	ID     string `path:"id" maxLength:"200" doc:"The account's id or its login"`
	Source string `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Body   *wire.ReasonRequest
}

func (s *accountRoutes) pauseAccount(ctx context.Context, in *pauseInput) (*body[domain.Account], error) {
	a, err := s.account(ctx, in.ID, in.Source)
	if err != nil {
		return nil, err
	}
	if err := s.Orchestrator.PauseAccount(ctx, a.ID, reasonOr(in.Body, "paused on request; resume it to go on")); err != nil {
		return nil, err
	}
	a, err = s.Reader.Account(ctx, a.ID)
	return &body[domain.Account]{a}, err
}

func reasonOr(r *wire.ReasonRequest, otherwise string) string {
	if r == nil || r.Reason == "" {
		return otherwise
	}
	return r.Reason
}

func (s *accountRoutes) resumeAccount(ctx context.Context, in *accountRef) (*body[domain.Account], error) {
	a, err := s.account(ctx, in.ID, in.Source)
	if err != nil {
		return nil, err
	}
	if err := s.Orchestrator.ResumeAccount(ctx, a.ID); err != nil {
		return nil, err
	}
	a, err = s.Reader.Account(ctx, a.ID)
	return &body[domain.Account]{a}, err
}

func (s *accountRoutes) getStatistics(ctx context.Context, in *accountRef) (*body[json.RawMessage], error) {
	a, err := s.account(ctx, in.ID, in.Source)
	if err != nil {
		return nil, err
	}
	data, found, err := s.Reader.AccountStatistics(ctx, a.ID)
	if err == nil && !found {
		err = domain.Errorf(domain.CodeNotFound, "there are no statistics of %s yet; they are computed when a run completes", a.Login)
	}
	return &body[json.RawMessage]{data}, err
}

// notNull makes an empty list [] instead of null.
func notNull[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
