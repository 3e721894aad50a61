package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// quotaRoutes serve what is known of rations.
type quotaRoutes struct {
	*common
	accountFinder
	Lists        ListReader
	Quota        QuotaReader
	Observer     Observer
	Orchestrator QuotaKeeper
}

func (s *quotaRoutes) registerQuota(api huma.API) {
	const tag = "quota"
	register(s, api, operation{id: "get-quota", method: http.MethodGet, path: "/api/v1/quota", tag: tag,
		summary: "List quota windows by owner and bucket, who uses them and who waits for them", errors: []int{http.StatusUnprocessableEntity}}, s.getQuota)
	register(s, api, operation{id: "reset-quota", method: http.MethodPost, path: "/api/v1/quota/{owner}/reset", tag: tag,
		summary: "Resume an owner that is parked: one call goes first, and its answer says what is left",
		errors:  []int{http.StatusNotFound}}, s.resetQuota)
	register(s, api, operation{id: "dry-run", method: http.MethodPost, path: "/api/v1/dry-runs", tag: tag,
		summary: "Estimate, by discovery alone, what the next collection of an account would take",
		errors:  []int{http.StatusUnprocessableEntity}}, s.dryRun)
}

type getQuotaInput struct {
	Owner  string `query:"owner" maxLength:"200" doc:"Only of this owner, or of the owner of this account: its login or id"`
	Source string `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Cursor string `query:"cursor" maxLength:"500" doc:"Where an earlier page ended"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
}

func (s *quotaRoutes) getQuota(ctx context.Context, in *getQuotaInput) (*body[wire.Quota], error) {
	var of domain.Account
	if in.Owner != "" {
		var err error
		if of, err = s.ownerOf(ctx, in.Owner, in.Source); err != nil {
			return nil, err
		}
	}
	q, err := s.quota(ctx, of.Owner, of.Source, in.Cursor, in.Limit)
	return &body[wire.Quota]{q}, err
}

// quota describes the rations of an owner at a source, of all for "", by owner and
// bucket. What a source counts for everybody is its own accounts' alone.
func (s *quotaRoutes) quota(ctx context.Context, owner, at, cursor string, limit int) (wire.Quota, error) {
	q := wire.Quota{Waits: []engine.LaneWait{}}
	windows, err := s.Quota.Windows(ctx, owner)
	if err != nil {
		return q, err
	}
	if known := s.bucketsOf(at); known != nil {
		windows = slices.DeleteFunc(windows, func(w quota.Window) bool { return !known[w.Bucket] })
	}
	slices.SortFunc(windows, func(a, b quota.Window) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Bucket, b.Bucket))
	})
	page, err := cut(windows, cursor, limit, func(w *quota.Window) string { return w.Owner + "/" + w.Bucket })
	if err != nil {
		return q, err
	}
	q.NextCursor = page.NextCursor
	if q.Items, err = s.withLogins(ctx, page.Items); err != nil {
		return q, err
	}
	for lane, wait := range s.Observer.Waits() {
		if owner == "" || strings.HasPrefix(lane, dispatch.Lane(owner, "")) {
			q.Waits = append(q.Waits, engine.LaneWait{Lane: lane, Wait: wait})
		}
	}
	slices.SortFunc(q.Waits, func(a, b engine.LaneWait) int { return cmp.Compare(a.Lane, b.Lane) })
	return q, nil
}

// bucketsOf are the rations of a source, by their buckets; nil of one that is not known.
func (s *quotaRoutes) bucketsOf(name string) map[string]bool {
	at := slices.IndexFunc(s.Sources, func(d source.Description) bool { return d.Name == name })
	if at < 0 {
		return nil
	}
	known := map[string]bool{name: true}
	for _, r := range s.Sources[at].Rations {
		known[r.Bucket] = true
	}
	return known
}

// mostLogins bounds how many accounts a page of rations names.
const mostLogins = 5000

// withLogins names the accounts that draw on rations.
func (s *quotaRoutes) withLogins(ctx context.Context, windows []quota.Window) ([]wire.QuotaWindow, error) {
	var owners []string
	for i := range windows {
		if i == 0 || windows[i].Owner != windows[i-1].Owner {
			owners = append(owners, windows[i].Owner)
		}
	}
	accounts, err := s.Lists.AccountsOf(ctx, owners, mostLogins)
	if err != nil {
		return nil, err
	}
	logins := map[string][]string{}
	for _, a := range accounts {
		if !a.State.Gone() {
			logins[a.Owner] = append(logins[a.Owner], a.Login)
		}
	}
	out := make([]wire.QuotaWindow, len(windows))
	for i, w := range windows {
		out[i] = wire.QuotaWindow{Window: w, Used: max(w.Limit-w.Floor-w.Available, 0), Logins: notNull(logins[w.Owner])}
	}
	return out, nil
}

func (s *quotaRoutes) dryRun(ctx context.Context, in *body[wire.DryRunRequest]) (*body[engine.DryRun], error) {
	found, err := s.Orchestrator.DryRun(ctx, engine.Signup{Source: in.Body.Source, Login: in.Body.Login, Token: in.Body.Token, Set: in.Body.Set})
	return &body[engine.DryRun]{found}, err
}

type ownerRef struct {
	Owner  string `path:"owner" maxLength:"200" doc:"The owner as GET /api/v1/quota names it, or a login or id of an account that uses its quota"`
	Source string `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
}

func (s *quotaRoutes) resetQuota(ctx context.Context, in *ownerRef) (*body[wire.Quota], error) {
	of, err := s.ownerOf(ctx, in.Owner, in.Source)
	if err != nil {
		return nil, err
	}
	err = s.Orchestrator.ResetQuota(ctx, of.Owner)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil, domain.Errorf(domain.CodeNotFound, "nothing is known about the quota of %s; GET /api/v1/quota lists the owners", shownName(in.Owner))
	}
	if err != nil {
		return nil, err
	}
	q, err := s.quota(ctx, of.Owner, of.Source, "", mostLogins)
	return &body[wire.Quota]{q}, err
}

// ownerOf is whose owner is meant: an account, or one of whom nothing is known but the
// owner that was given, if there is no such account.
func (s *quotaRoutes) ownerOf(ctx context.Context, ref, source string) (domain.Account, error) {
	a, err := s.account(ctx, ref, source)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return domain.Account{Owner: ref}, nil
	}
	return a, err
}
