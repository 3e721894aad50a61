package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"sluice/bench/report"
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/quota"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/verify"
	"sluice/internal/wiring"
)

// thriftLab is a simulated GitHub on loopback with a whole service that
// collects from it. Both live until close.
type thriftLab struct {
	world    *sim.Server
	svc      *wiring.Service
	accounts []int64 // in the order of the world's logins
	ahead    atomic.Int64
	close    func() error
}

// betweenRuns is how much later a second run begins: longer than GitHub wants
// events to be left alone, shorter than a quota window.
const betweenRuns = 5 * time.Minute

// now is the clock of the world and of the service.
func (t *thriftLab) now() time.Time { return time.Now().Add(time.Duration(t.ahead.Load())) }

// later puts the clock forward to the next run.
func (t *thriftLab) later() { t.ahead.Add(int64(betweenRuns)) }

// boundless are limits that nobody reaches and that are counted all the same:
// switched off, they would leave no windows in the audit.
func boundless() sim.Limits {
	return sim.Limits{
		CoreLimit: 1 << 30, GraphQLLimit: 1 << 30, Concurrent: 1 << 20, RESTPoints: generous, GraphQLPoints: generous,
	}
}

// openThrift builds a world, opens a service on a new folder, starts it and
// signs up every account.
func (l *lab) openThrift(ctx context.Context, o sim.Options, q quota.Config) (_ *thriftLab, err error) {
	dir, remove, err := l.folder("thrift")
	if err != nil {
		return nil, err
	}
	t := &thriftLab{}
	o.Now = t.now
	t.world = sim.New(o)
	server := httptest.NewServer(t.world)
	t.close = func() error { server.Close(); remove(); return nil }
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	src, err := github.New(github.Options{BaseURL: server.URL, Now: t.now})
	if err != nil {
		return nil, err
	}
	t.svc, err = wiring.Open(ctx, wiring.Options{
		Config: config.Embedded(dir), Holder: "bench", Quota: q, Sources: []source.Source{src},
		Engine: engine.Config{Workers: collectionWorkers, Now: t.now},
	})
	if err != nil {
		return nil, err
	}
	t.close = func() error {
		err := t.svc.Close(context.WithoutCancel(ctx))
		server.Close()
		remove()
		return err
	}
	if err := t.svc.Engine.Start(ctx); err != nil {
		return nil, err
	}
	t.accounts, err = signUp(ctx, t.svc, t.world, "github")
	return t, err
}

// collect runs every account once and returns the audit of these runs alone.
// What was collected must be exact: calls are not saved by leaving things out.
func (t *thriftLab) collect(ctx context.Context) (sim.Audit, error) {
	t.world.ResetAudit()
	if err := runAll(ctx, t.svc, t.accounts); err != nil {
		return sim.Audit{}, err
	}
	audit := t.world.Audit()
	for i, login := range t.world.Logins() {
		truth, err := t.world.Truth(login, time.Time{})
		if err != nil {
			return audit, err
		}
		wrong, err := verify.Account(ctx, t.svc.Documents, t.accounts[i], truth)
		if err != nil {
			return audit, err
		}
		if len(wrong) > 0 {
			return audit, fmt.Errorf("the copy of %s differs from the truth in %d places, such as: %s", login, len(wrong), wrong[0])
		}
	}
	return audit, nil
}

// spent adds up what the running windows of a bucket have lost so far.
func (t *thriftLab) spent(bucket string) int {
	used := 0
	for _, w := range t.world.Audit().Windows {
		if w.Bucket == bucket {
			used += w.Used
		}
	}
	return used
}

// onePage names what first collections are held to: a plan in which every call
// brings one page of one connection, see plannedCalls. It is no lower bound: a
// query may ask for the pages of several repositories at once, until it takes too
// long or too many points.
const onePage = "a plan of one page per call"

// firstCalls compares the calls of a complete first collection with that plan.
func firstCalls(ctx context.Context, l *lab) error {
	return errors.Join(l.firstOfMany(ctx), l.thousandCommits(ctx))
}

func (l *lab) firstOfMany(ctx context.Context) (err error) {
	t, err := l.openThrift(ctx, sim.Options{Seed: 23, Accounts: l.size(40, 5), Limits: boundless()}, wiring.NoQuota())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	audit, err := t.collect(ctx)
	if err != nil {
		return err
	}
	least, err := t.leastCalls()
	if err != nil {
		return err
	}
	plan, err := t.plannedCalls(least)
	if err != nil {
		return err
	}
	// Told apart, so that what one API saves hides no waste of the other.
	graphql := audit.ByEndpoint["graphql"]
	line := report.Line{
		Name: "first_calls", Value: float64(audit.Calls), Unit: "calls",
		Detail: fmt.Sprintf("complete first collection of %d accounts, proved equal to the truth; REST %d and GraphQL %d calls, "+
			"planned %d and %d; %d answers were paid for twice",
			len(t.accounts), audit.Calls-graphql, graphql,
			plan.Profile+plan.Issues+plan.Events, plan.Discovery+plan.Commits+plan.Pulls, audit.Repeated+audit.RepeatedQueries),
	}.Against(onePage, float64(plan.Total))
	return l.report.Add(line.Aim("<= 1.05x", *line.Ratio <= 1.05))
}

// leastCalls adds up what the simulator works out for each account.
func (t *thriftLab) leastCalls() (sum sim.MinimumCalls, err error) {
	for _, login := range t.world.Logins() {
		m, err := t.world.MinimumCalls(login)
		if err != nil {
			return sum, err
		}
		sum.Profile, sum.Discovery, sum.Commits = sum.Profile+m.Profile, sum.Discovery+m.Discovery, sum.Commits+m.Commits
		sum.Issues, sum.Pulls, sum.Events = sum.Issues+m.Issues, sum.Pulls+m.Pulls, sum.Events+m.Events
		sum.Total += m.Total
	}
	return sum, nil
}

// plannedCalls lowers the simulator's figure to what a collector can reach that
// lists issues only where there are issues (pull requests come from GraphQL in
// any case) and asks for 200 pull requests in a call where they are few in each
// repository: ⌈pulls/200⌉ for an account.
func (t *thriftLab) plannedCalls(least sim.MinimumCalls) (sim.MinimumCalls, error) {
	tight := least
	tight.Issues, tight.Pulls = 0, 0
	for _, login := range t.world.Logins() {
		truth, err := t.world.Truth(login, time.Time{})
		if err != nil {
			return tight, err
		}
		pulls := 0
		for _, r := range truth.Repositories {
			pulls += len(r.Pulls)
			if len(r.Issues) > 0 {
				tight.Issues += hundreds(len(r.Issues) + len(r.Pulls))
			}
		}
		tight.Pulls += (pulls + 199) / 200
	}
	tight.Total = tight.Profile + tight.Discovery + tight.Commits + tight.Issues + tight.Pulls + tight.Events
	return tight, nil
}

// thousandCommits counts the calls for the history of one repository. The
// account has nothing else but its profile, its events and its two walks,
// which are told apart.
func (l *lab) thousandCommits(ctx context.Context) (err error) {
	t, err := l.openThrift(ctx, sim.Options{
		Seed: 3, Accounts: 1, Limits: boundless(),
		Shape: &sim.Shape{Repos: sim.Exactly(1), Commits: sim.Exactly(1000), Issues: sim.Exactly(0), Pulls: sim.Exactly(0)},
	}, wiring.NoQuota())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	audit, err := t.collect(ctx)
	if err != nil {
		return err
	}
	least, err := t.leastCalls()
	if err != nil {
		return err
	}
	others := least.Profile + least.Discovery + least.Events
	calls := float64(audit.Calls - others)
	return l.report.Add(report.Line{
		Name: "commit_calls", Value: calls, Unit: "calls",
		Detail: fmt.Sprintf("1,000 commits with statistics; the account's profile, walks and events took the other %d calls", others),
	}.Against(onePage, float64(least.Commits)).Aim("<= 12", calls <= 12))
}

// secondRun collects an account again in which nothing has changed, and asks
// the upstream what it charged.
func secondRun(ctx context.Context, l *lab) (err error) {
	repositories := l.size(1000, 100)
	t, err := l.openThrift(ctx, sim.Options{
		Seed: 29, Accounts: 1, Limits: boundless(),
		Shape: &sim.Shape{
			Repos: sim.Exactly(repositories), Commits: sim.Between(0, 150), Issues: sim.Between(0, 20), Pulls: sim.Between(0, 10), Oddities: true,
		},
	}, wiring.NoQuota())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if _, err := t.collect(ctx); err != nil {
		return err
	}
	t.later()
	core, points := t.spent("core"), t.spent("graphql")
	audit, err := t.collect(ctx)
	if err != nil {
		return err
	}
	core, points = t.spent("core")-core, t.spent("graphql")-points
	per := float64(points) / float64(repositories) * 100
	detail := fmt.Sprintf("%d repositories, nothing changed; %d calls, of which %d answered with 304", repositories, audit.Calls, audit.NotModified)
	return errors.Join(
		l.report.Add(report.Line{Name: "second_run_rest", Value: float64(core), Unit: "calls charged", Detail: detail}.Aim("0", core == 0)),
		l.report.Add(report.Line{Name: "second_run_graphql", Value: per, Unit: "points/100 repositories", Detail: detail}.Aim("<= 4", per <= 4)),
	)
}
