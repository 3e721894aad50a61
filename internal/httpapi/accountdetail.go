package httpapi

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

// Purger removes everything of an account; *engine.Engine is one.
type Purger interface {
	PurgeAccount(ctx context.Context, id int64, cancel bool) (state.Purged, error)
}

// accountDetailRoutes show all that is known of one account, or remove it.
type accountDetailRoutes struct {
	*common
	accountFinder
	schedules   *scheduleRoutes
	quotas      *quotaRoutes
	Reader      AccountReader
	Lists       ListReader
	Observer    Observer
	Documents   document.Reader
	Purger      Purger
	Credentials AccountKeeper
}

func (s *accountDetailRoutes) registerAccountDetails(api huma.API) {
	const tag = "accounts"
	register(s, api, operation{id: "get-account", method: http.MethodGet, path: "/api/v1/accounts/{id}", tag: tag,
		summary: "Show an account: its state, quota, schedule, last run, documents and what it waits for", errors: []int{http.StatusNotFound}}, s.getAccount)
	register(s, api, operation{id: "list-cursors", method: http.MethodGet, path: "/api/v1/accounts/{id}/cursors", tag: tag,
		summary: "List up to when each resource of an account is collected", errors: []int{http.StatusNotFound}}, s.listCursors)
	registerCheckedTask(s, api, operation{id: "purge-account", method: http.MethodPost, path: "/api/v1/accounts/{id}/purge", tag: tag,
		summary: "Remove everything of an account from every store; a purge that was interrupted goes on",
		errors:  []int{http.StatusNotFound, http.StatusConflict}}, s.purgeAccount)
}

// listCursors tells where the next run begins.
func (s *accountDetailRoutes) listCursors(ctx context.Context, in *accountRef) (*body[wire.CursorList], error) {
	a, err := s.account(ctx, in.ID, in.Source)
	if err != nil {
		return nil, err
	}
	cursors, err := s.Reader.Cursors(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	list := wire.CursorList{Items: []wire.ResourceCursor{}}
	for _, resource := range slices.Sorted(maps.Keys(cursors)) {
		list.Items = append(list.Items, wire.ResourceCursor{Resource: resource, At: cursors[resource].UTC()})
	}
	return &body[wire.CursorList]{list}, nil
}

func (s *accountDetailRoutes) getAccount(ctx context.Context, in *accountRef) (*body[wire.AccountDetail], error) {
	a, err := s.account(ctx, in.ID, in.Source)
	if err != nil {
		return nil, err
	}
	d := wire.AccountDetail{Account: a, Documents: map[string]int64{}}
	schedule, err := s.schedules.scheduleOf(ctx, a)
	if err != nil {
		return nil, err
	}
	d.Schedule = schedule.Body
	if d.Quota = []wire.QuotaWindow{}; a.Owner != "" {
		q, err := s.quotas.quota(ctx, a.Owner, a.Source, "", mostLogins)
		if err != nil {
			return nil, err
		}
		d.Quota = q.Items
	}
	counts, err := s.Documents.Count(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	for kind, n := range counts {
		d.Documents[string(kind)] = n
	}
	if a.State != domain.AccountPurged {
		if d.CredentialFor, d.Set, err = s.Credentials.Binding(ctx, a.ID); err != nil {
			return nil, err
		}
	}
	err = s.lastRun(ctx, &d)
	return &body[wire.AccountDetail]{d}, err
}

// lastRun adds the newest run, and what the account waits for.
func (s *accountDetailRoutes) lastRun(ctx context.Context, d *wire.AccountDetail) error {
	page, err := s.Lists.ListRuns(ctx, state.RunList{AccountID: d.ID, Limit: 1})
	if err != nil {
		return err
	}
	var progress engine.Progress
	if len(page.Items) > 0 {
		d.LastRun = &page.Items[0]
		if d.LastRun.Status.Active() {
			if progress, err = s.Observer.Progress(ctx, *d.LastRun); err != nil {
				return err
			}
		}
	}
	d.WaitsFor = waitsFor(d, progress.Waits)
	return nil
}

// waitsFor says what keeps an account from going on.
func waitsFor(d *wire.AccountDetail, waits []engine.LaneWait) (out []string) {
	if d.State != domain.AccountActive {
		return []string{fmt.Sprintf("a person: it is %s: %s", d.State, d.Reason)}
	}
	for _, w := range waits {
		text := w.Lane + ": " + w.Reason
		if !w.Until.IsZero() {
			text += " until " + w.Until.UTC().Format("2006-01-02T15:04:05Z")
		}
		out = append(out, text)
	}
	if next := d.Schedule.Next; next != nil && (d.LastRun == nil || !d.LastRun.Status.Active()) {
		out = append(out, "its next run at "+next.At.UTC().Format("2006-01-02T15:04:05Z"))
	}
	return out
}

type purgeInput struct {
	ID     string `path:"id" maxLength:"200" doc:"The account's id or its login"`
	Source string `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Body   *wire.PurgeRequest
}

func (s *accountDetailRoutes) purgeAccount(ctx context.Context, in *purgeInput) (task[wire.PurgeAnswer], error) {
	a, err := s.account(ctx, in.ID, in.Source)
	if err != nil {
		return nil, err
	}
	cancel := in.Body != nil && in.Body.Cancel
	active, err := s.Lists.ListRuns(ctx, state.RunList{AccountID: a.ID, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(active.Items) > 0 && active.Items[0].Status.Active() && !cancel {
		return nil, state.MayPurge(&a, active.Items[0].ID)
	}
	return func(ctx context.Context) (wire.PurgeAnswer, error) {
		removed, err := s.Purger.PurgeAccount(ctx, a.ID, cancel)
		return wire.PurgeAnswer{AccountID: a.ID, Removed: removed}, err
	}, nil
}
