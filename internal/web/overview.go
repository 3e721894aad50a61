package web

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
	"sluice/internal/stats"
)

const (
	// overviewRuns, overviewOwners and overviewFailures are how many of each the first
	// page shows: it leads to the lists.
	overviewRuns, overviewOwners, overviewFailures = 12, 12, 6
	// recentRuns is among how many of the newest runs failures are looked for.
	recentRuns = 40
)

// overviewData is what the first page shows. A part that could not be read has its
// reason in Unread.
type overviewData struct {
	Figures  figures
	Accounts map[string]float64
	// Jobs are those that have not ended by what becomes of them next, Pending all of
	// them; Ended counts attempts of this process by their outcome.
	Jobs, Ended []figure
	Pending     float64
	Calls       line
	// Rate is the calls a second of the last seconds; nil while it is not known.
	Rate     *float64
	Runs     []engine.Progress
	MoreRuns bool
	Latest   []domain.Run
	Quota    []ration
	Owners   bool
	Failures []wire.Job
	Checks   []wire.Check
	Refresh  *refresh.Overview
	Timers   *wire.CompletionStats
	Totals   *stats.Totals
	Leads    bool
	Breakers map[string]float64
	// Sinks are where documents are carried to; none where nothing is.
	Sinks  []wire.Sink
	Unread map[string]string
	// Empty says that there is no account yet.
	Empty bool
}

// ration is what an owner may call, for people.
type ration struct {
	wire.QuotaWindow
	Name string
}

func (s *site) overview(ctx context.Context, v *visit) (*page, error) {
	d := &overviewData{Unread: map[string]string{}, Accounts: map[string]float64{}}
	list, err := v.Runs(ctx, client.RunFilter{Page: client.Page{Limit: recentRuns}})
	if err != nil {
		return nil, err
	}
	d.Latest = list.Items[:min(len(list.Items), 8)]
	d.read("runs", func() error { return d.readRuns(ctx, v) })
	d.read("metrics", func() error { return d.readFigures(ctx, v, &s.rates) })
	d.read("quota", func() (err error) {
		d.Quota, d.Owners, err = rations(ctx, v, overviewOwners, true)
		return err
	})
	d.read("failures", func() error { return d.readFailures(ctx, v, list.Items) })
	d.read("checks", func() (err error) {
		d.Checks, err = v.checks(ctx)
		return err
	})
	if sinks, err := v.Sinks(ctx); err == nil {
		d.Sinks = sinks.Items
	}
	if o, err := v.RefreshOverview(ctx); err == nil {
		d.Refresh = &o
	}
	if t, err := v.CompletionStats(ctx, 1); err == nil {
		d.Timers = &t
	}
	if len(list.Items) == 0 {
		accounts, err := v.Accounts(ctx, client.AccountFilter{Page: client.Page{Limit: 1}})
		if err != nil {
			return nil, err
		}
		d.Empty = len(accounts.Items) == 0
	}
	return &page{Title: "Overview", Template: "overview.html", Nav: "overview", Stream: "/api/v1/events", Every: 5, Data: d}, nil
}

// read has one part of the page read; the others are shown without it.
func (d *overviewData) read(part string, read func() error) {
	if err := read(); err != nil {
		d.Unread[part] = message(err)
	}
}

func (d *overviewData) readRuns(ctx context.Context, v *visit) error {
	active, err := v.Runs(ctx, client.RunFilter{Active: true, Page: client.Page{Limit: overviewRuns}})
	if err != nil {
		return err
	}
	d.MoreRuns = active.NextCursor != ""
	for _, r := range active.Items {
		p, err := v.RunProgress(ctx, r.ID)
		if err != nil {
			return err
		}
		d.Runs = append(d.Runs, p)
	}
	// Those that began first are where people look first.
	slices.SortFunc(d.Runs, func(a, b engine.Progress) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

func (d *overviewData) readFigures(ctx context.Context, v *visit, rates *rateMeter) error {
	f, err := v.figures(ctx)
	if err != nil {
		return err
	}
	d.Figures, d.Leads = f, f["sluice_scheduler_leads"] == 1
	maps.Copy(d.Accounts, f.of("sluice_accounts", "state"))
	d.Breakers = f.of("sluice_breaker_open", "part")
	d.Jobs, d.Pending = pendingJobs(f)
	outcomes := f.of("sluice_jobs_total", "outcome")
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		if outcomes[name] > 0 {
			d.Ended = append(d.Ended, figure{words(name), outcomes[name]})
		}
	}
	curveOf := rates.take(v.now, f["sluice_calls_total"]+f["sluice_refresh_calls_total"])
	d.Calls = curve(curveOf, 240, 44)
	if n := len(curveOf); n > 0 {
		last := curveOf[max(0, n-5):]
		sum := 0.0
		for _, r := range last {
			sum += r
		}
		mean := sum / float64(len(last))
		d.Rate = &mean
	}
	return nil
}

// pendingJobs are the jobs that have not ended by what becomes of them next. What is
// queued may be behind a ration that is used up; what is neither handed out nor queued
// waits for an instant or a person.
func pendingJobs(f figures) (jobs []figure, all float64) {
	inHand, ready := f["sluice_dispatch_leased"], f["sluice_dispatch_ready"]
	all = max(f["sluice_jobs_pending"], inHand+ready)
	return []figure{{"in hand", inHand}, {"queued", ready}, {"put off or paused", all - inHand - ready}}, all
}

// readFailures finds the jobs that failed in the newest runs.
func (d *overviewData) readFailures(ctx context.Context, v *visit, runs []domain.Run) error {
	for _, r := range runs {
		if r.Failed == 0 || len(d.Failures) >= overviewFailures {
			continue
		}
		jobs, err := v.Jobs(ctx, client.JobFilter{Run: r.ID, Status: []string{domain.JobFailed.String()}, Page: client.Page{Limit: overviewFailures - len(d.Failures)}})
		if err != nil {
			return err
		}
		d.Failures = append(d.Failures, jobs.Items...)
	}
	return nil
}

// rations are what owners may call, by the names of their accounts; named leaves out
// those that no account draws on.
func rations(ctx context.Context, v *visit, most int, named bool) (all []ration, more bool, err error) {
	q, err := v.Quota(ctx, "", client.Page{Limit: most})
	if err != nil {
		return nil, false, err
	}
	for i := range q.Items {
		w := q.Items[i]
		if len(w.Logins) == 0 && named && !ofWholeSource(w) {
			continue
		}
		all = append(all, ration{w, ownerName(w)})
	}
	return all, q.NextCursor != "", nil
}

// ofWholeSource says whether a source counts for everybody: then it is its own owner.
func ofWholeSource(w wire.QuotaWindow) bool { return w.Owner == w.Bucket }

// ownerName is whose a ration is, for people, on every page.
func ownerName(w wire.QuotaWindow) string {
	switch n := len(w.Logins); {
	case ofWholeSource(w):
		return w.Bucket + " (whole source)"
	case n == 0:
		return "no account (" + short(w.Owner, 6) + ")"
	case n > 2:
		return strings.Join(w.Logins[:2], ", ") + " and others"
	}
	return strings.Join(w.Logins, ", ")
}

// checks is what the service needs, and whether it works.
func (v *visit) checks(ctx context.Context) ([]wire.Check, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ownAddress+"/readyz?verbose", nil)
	if err != nil {
		return nil, err
	}
	res, err := v.calls.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct{ Checks []wire.Check }
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&answer); err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "the checks cannot be read: %w", err)
	}
	return answer.Checks, nil
}
