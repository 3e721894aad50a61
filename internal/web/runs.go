package web

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

// runStates are those of runs, in their order.
var runStates = []string{"CREATED", "PLANNING", "RUNNING", "FINALIZING", "COMPLETED", "FAILED", "CANCELED"}

func (s *site) runs(ctx context.Context, v *visit) (*page, error) {
	d := struct {
		Runs                  []domain.Run
		Account, Status, Next string
		Active, Filtered      bool
		States                []string
		// Ended says that nothing of what is shown can be canceled.
		Ended bool
	}{Account: v.query("account"), Status: v.query("status"), Active: v.query("active") != "", States: runStates}
	d.Filtered = d.Account != "" || d.Status != "" || d.Active || v.query("cursor") != ""
	f := client.RunFilter{Account: d.Account, Active: d.Active, Page: client.Page{Cursor: v.query("cursor"), Limit: listLimit}}
	if d.Status != "" {
		f.Status = []string{d.Status}
	}
	if d.Status != "" && !slices.Contains(runStates, d.Status) {
		return nil, noState(d.Status, runStates)
	}
	d.Ended = d.Status != "" && !slices.ContainsFunc(engine.ActiveRuns(), func(s domain.RunStatus) bool { return s.String() == d.Status })
	list, err := v.Runs(ctx, f)
	if err != nil && (d.Account == "" || domain.CodeOf(err) != domain.CodeNotFound) {
		return nil, err
	}
	d.Runs, d.Next = list.Items, s.nextPage(v, list.NextCursor)
	return &page{Title: "Runs", Template: "runs.html", Nav: "runs", Stream: "/api/v1/events", Every: 15, Data: d}, nil
}

// typeLine is the ledger of all resources of one type.
type typeLine struct {
	Type                                      string
	Resources, Known, Stored, Failed, Dropped int
	Items, Unknown                            int
	Curve                                     line
}

// failureGroup is the failed jobs of a run that have the same cause.
type failureGroup struct {
	Type, Kind, Error string
	Jobs              int
	First             int64
}

const (
	// shownResources bounds the lines of a run's ledger on its page, and groupedJobs
	// the failed jobs that are read to be grouped.
	shownResources = 60
	groupedJobs    = 500
)

func (s *site) run(ctx context.Context, v *visit) (*page, error) {
	id, err := number64(v.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	detail, err := v.Run(ctx, id, true)
	if err != nil {
		return nil, err
	}
	d := struct {
		wire.RunDetail
		Types     []typeLine
		Resources []state.LedgerLine
		Hidden    int
		Groups    []failureGroup
		MoreJobs  bool
		Ended     bool
		Pace      *pace
		Kept      *keptForecast
	}{RunDetail: detail, Types: byType(detail.Ledger), Ended: !detail.Status.Active()}
	// What is not whole comes first.
	lines := slices.Clone(detail.Ledger)
	slices.SortStableFunc(lines, func(a, b state.LedgerLine) int {
		return cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(b.Unknown, a.Unknown), cmp.Compare(b.Known, a.Known))
	})
	d.Resources = lines[:min(len(lines), shownResources)]
	d.Hidden = len(lines) - len(d.Resources)
	if detail.Failed > 0 {
		jobs, err := v.Jobs(ctx, client.JobFilter{Run: id, Status: []string{domain.JobFailed.String()}, Page: client.Page{Limit: groupedJobs}})
		if err != nil {
			return nil, err
		}
		d.Groups, d.MoreJobs = grouped(jobs.Items), jobs.NextCursor != ""
	}
	d.Pace, d.Kept = paceOf(detail, v.now), keptOf(detail.Run)
	p := &page{Title: "Run " + strconv.FormatInt(id, 10), Template: "run.html", Nav: "runs", Data: d}
	if !d.Ended {
		p.Stream, p.Every = "/api/v1/runs/"+strconv.FormatInt(id, 10)+"/events", 5
	}
	return p, nil
}

// pace compares how far a run is with how far it would be if the time that is
// forecast passed evenly, in percent.
type pace struct {
	Time, Calls    int
	Elapsed, Whole time.Duration
	// Left and Made are calls.
	Left, Made int64
}

// Says is how the two compare. What is a few percent apart is as forecast.
func (p *pace) Says() string {
	const apart = 10
	switch {
	case p.Calls > p.Time+apart:
		return "ahead of an even pace: what is left has to wait"
	case p.Time > p.Calls+apart:
		return "behind an even pace: what is left goes faster"
	}
	return "at an even pace"
}

// paceOf is nil where nothing is forecast.
func paceOf(r wire.RunDetail, now time.Time) *pace {
	if r.Forecast == nil || r.ETA.IsZero() || !r.ETA.After(r.CreatedAt) {
		return nil
	}
	p := &pace{Elapsed: now.Sub(r.CreatedAt), Whole: r.ETA.Sub(r.CreatedAt), Left: r.Forecast.Left, Made: r.Calls}
	p.Time = int(100 * min(1, max(0, p.Elapsed.Seconds()/p.Whole.Seconds())))
	if all := p.Left + p.Made; all > 0 {
		p.Calls = int(100 * p.Made / all)
	}
	return p
}

// keptForecast is what was forecast of a run that has ended, beside how it ended.
type keptForecast struct {
	// After is how long after its start it was forecast.
	After                time.Duration
	Calls, ExpectedCalls int64
	Took, Expected       time.Duration
}

// Says is how the two compare. What is a few percent apart is as forecast.
func (k *keptForecast) Says() string {
	const apart = 10
	switch percent := 100 * (k.Took - k.Expected) / max(k.Expected, time.Second); {
	case percent > apart:
		return "it took longer than was forecast"
	case percent < -apart:
		return "it was done sooner than was forecast"
	}
	return "it ended as was forecast"
}

// keptOf is nil of a run that goes on, or was over before anything could be forecast.
func keptOf(r domain.Run) *keptForecast {
	if r.Status.Active() || r.FinishedAt.IsZero() || r.Expected.At.IsZero() {
		return nil
	}
	return &keptForecast{
		After: r.Expected.At.Sub(r.CreatedAt), Calls: r.Calls, ExpectedCalls: r.Expected.Calls,
		Took: r.FinishedAt.Sub(r.CreatedAt), Expected: r.Expected.Ends.Sub(r.CreatedAt),
	}
}

// byType adds up the ledger by types of jobs. The curve has the pages of each
// resource that are stored, so that what is long is seen.
func byType(lines []state.LedgerLine) []typeLine {
	var all []typeLine
	sizes := map[string][]float64{}
	for _, l := range lines {
		i := slices.IndexFunc(all, func(t typeLine) bool { return t.Type == l.Type })
		if i < 0 {
			i = len(all)
			all = append(all, typeLine{Type: l.Type})
		}
		t := &all[i]
		t.Resources++
		t.Known, t.Stored, t.Failed, t.Dropped = t.Known+l.Known, t.Stored+l.Stored, t.Failed+l.Failed, t.Dropped+l.Dropped
		t.Items, t.Unknown = t.Items+l.Items, t.Unknown+l.Unknown
		if len(sizes[l.Type]) < 200 {
			sizes[l.Type] = append(sizes[l.Type], float64(l.Items))
		}
	}
	for i := range all {
		all[i].Curve = curve(sizes[all[i].Type], 90, 18)
	}
	return all
}

func grouped(jobs []wire.Job) []failureGroup {
	var groups []failureGroup
	for _, j := range jobs {
		i := slices.IndexFunc(groups, func(g failureGroup) bool { return g.Type == j.Type && g.Kind == string(j.ErrorKind) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, failureGroup{Type: j.Type, Kind: string(j.ErrorKind), Error: j.Error, First: j.ID})
		}
		groups[i].Jobs++
	}
	slices.SortStableFunc(groups, func(a, b failureGroup) int { return cmp.Compare(b.Jobs, a.Jobs) })
	return groups
}

func number64(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, domain.Errorf(domain.CodeNotFound, "there is nothing with the number %q", short(text, 40))
	}
	return n, nil
}

// What buttons on runs do.

func cancelRun(ctx context.Context, v *visit, f url.Values) (string, error) {
	id, err := number64(f.Get("run"))
	if err != nil {
		return "", err
	}
	_, err = v.CancelRun(ctx, id, cmp.Or(f.Get("reason"), "canceled on the dashboard"))
	return "Run " + f.Get("run") + " is canceled; what was stored stays", err
}

func resumeRun(ctx context.Context, v *visit, f url.Values) (string, error) {
	id, err := number64(f.Get("run"))
	if err != nil {
		return "", err
	}
	_, err = v.ResumeRun(ctx, id)
	return "Run " + f.Get("run") + " goes on", err
}

func setPriority(ctx context.Context, v *visit, f url.Values) (string, error) {
	id, err := number64(f.Get("run"))
	if err != nil {
		return "", err
	}
	var p domain.Priority
	if err := p.UnmarshalText([]byte(f.Get("priority"))); err != nil {
		return "", err
	}
	_, err = v.SetRunPriority(ctx, id, p)
	return "Run " + f.Get("run") + " has priority " + f.Get("priority"), err
}
