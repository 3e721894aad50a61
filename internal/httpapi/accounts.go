package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
)

// defaultSource is where a bare login is looked up.
const defaultSource = "github"

func (s *server) registerAccounts(api huma.API) {
	const tag = "accounts"
	register(s, api, operation{id: "signup", method: http.MethodPost, path: "/api/v1/accounts", tag: tag,
		summary: "Store an account, or renew its credential, and start its first run", status: http.StatusCreated,
		errors: []int{http.StatusConflict, http.StatusUnprocessableEntity}}, s.signup)
	register(s, api, operation{id: "list-accounts", method: http.MethodGet, path: "/api/v1/accounts", tag: tag,
		summary: "List the accounts"}, s.listAccounts)
	register(s, api, operation{id: "get-account", method: http.MethodGet, path: "/api/v1/accounts/{id}", tag: tag,
		summary: "Show an account", errors: []int{http.StatusNotFound}}, s.getAccount)
	register(s, api, operation{id: "set-account", method: http.MethodPatch, path: "/api/v1/accounts/{id}", tag: tag,
		summary: "Set what the account's owner keeps for himself",
		errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity}}, s.setAccount)
	register(s, api, operation{id: "pause-account", method: http.MethodPost, path: "/api/v1/accounts/{id}/pause", tag: tag,
		summary: "Begin no more calls for an account", errors: []int{http.StatusNotFound}}, s.pauseAccount)
	register(s, api, operation{id: "resume-account", method: http.MethodPost, path: "/api/v1/accounts/{id}/resume", tag: tag,
		summary: "Let a paused account go on", errors: []int{http.StatusNotFound}}, s.resumeAccount)
	register(s, api, operation{id: "get-statistics", method: http.MethodGet, path: "/api/v1/accounts/{id}/statistics", tag: tag,
		summary: "Show the statistics of an account's newest complete run", errors: []int{http.StatusNotFound}}, s.getStatistics)
}

// accountRef names an account in a path.
type accountRef struct {
	ID     string `path:"id" maxLength:"200" doc:"The account's id or its login"`
	Source string `query:"source" maxLength:"50" default:"github" doc:"Where a login is looked up"`
}

// account finds an account by id or login. Digits are an id first, as logins
// of digits alone are rare.
func (s *server) account(ctx context.Context, ref, source string) (domain.Account, error) {
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil {
		a, err := s.Reader.Account(ctx, id)
		if domain.CodeOf(err) != domain.CodeNotFound {
			return a, err
		}
	}
	source = cmp.Or(source, defaultSource)
	a, err := s.Reader.AccountByLogin(ctx, source, ref)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return a, domain.Errorf(domain.CodeNotFound, "there is no account %s at %s; POST /api/v1/accounts adds one", ref, source)
	}
	return a, err
}

type setAccountInput struct {
	ID     string `path:"id" maxLength:"200" doc:"The account's id or its login"`
	Source string `query:"source" maxLength:"50" default:"github" doc:"Where a login is looked up"`
	Body   wire.AccountSettings
}

func (s *server) setAccount(ctx context.Context, in *setAccountInput) (*body[domain.Account], error) {
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
	account, err = s.Orchestrator.ReserveForOwner(ctx, account.ID, floor, hours)
	return &body[domain.Account]{account}, err
}

type signupOutput struct {
	Status int
	Body   wire.SignupAnswer
}

func (s *server) signup(ctx context.Context, in *body[wire.SignupRequest]) (*signupOutput, error) {
	req := in.Body
	account, run, err := s.Orchestrator.Signup(ctx, engine.Signup{Source: req.Source, Login: req.Login, Token: req.Token})
	if domain.CodeOf(err) == domain.CodeConflict && run.ID != 0 {
		// The account has an active run, which goes on with the new credential.
		return &signupOutput{http.StatusOK, wire.SignupAnswer{Account: account, Run: run}}, nil
	}
	if err != nil {
		return nil, err
	}
	return &signupOutput{http.StatusCreated, wire.SignupAnswer{Account: account, Run: run, Started: true}}, nil
}

func (s *server) listAccounts(ctx context.Context, _ *struct{}) (*body[wire.AccountList], error) {
	accounts, err := s.Reader.Accounts(ctx)
	return &body[wire.AccountList]{wire.AccountList{Accounts: notNull(accounts)}}, err
}

func (s *server) getAccount(ctx context.Context, in *accountRef) (*body[domain.Account], error) {
	a, err := s.account(ctx, in.ID, in.Source)
	return &body[domain.Account]{a}, err
}

type pauseInput struct {
	ID     string `path:"id" maxLength:"200" doc:"The account's id or its login"`
	Source string `query:"source" maxLength:"50" default:"github" doc:"Where a login is looked up"`
	Body   *wire.ReasonRequest
}

func (s *server) pauseAccount(ctx context.Context, in *pauseInput) (*body[domain.Account], error) {
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

func (s *server) resumeAccount(ctx context.Context, in *accountRef) (*body[domain.Account], error) {
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

func (s *server) getStatistics(ctx context.Context, in *accountRef) (*body[json.RawMessage], error) {
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
