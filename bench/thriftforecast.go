package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"sluice/bench/report"
	"sluice/internal/domain"
	"sluice/internal/quota"
	sim "sluice/internal/simulator/github"
	"sluice/internal/wiring"
)

// outlook is what a run said about its end at one moment.
type outlook struct {
	at          time.Time
	done, known int64
	discovering bool
	ends        time.Time
}

// forecast asks runs early when they will end and after how many calls, and
// compares the answer with what came. Some runs are held up by quota windows,
// the others by nothing but the time that each call takes.
func forecast(ctx context.Context, l *lab) error {
	limit, window := 200, time.Duration(l.size(5, 3))*time.Second
	shape := &sim.Shape{
		Repos: sim.Exactly(l.size(100, 30)), Commits: sim.Between(0, 2000), Issues: sim.Between(0, 1500), Pulls: sim.Between(0, 300),
	}
	byQuota := sim.Options{
		Accounts: 1, Shape: shape, Latency: sim.Latency{Fixed: 10 * time.Millisecond, Jitter: 10 * time.Millisecond},
		Limits: sim.Limits{Window: window, CoreLimit: limit, GraphQLLimit: limit, RESTPoints: generous, GraphQLPoints: generous},
	}
	byLatency := sim.Options{
		Accounts: 1, Shape: shape, Limits: boundless(),
		Latency: sim.Latency{Fixed: 60 * time.Millisecond, Jitter: 60 * time.Millisecond},
	}
	return errors.Join(
		l.forecastOf(ctx, "forecast_quota", fmt.Sprintf("windows of %d calls in %s", limit, window), byQuota, shortQuota(limit, window)),
		l.forecastOf(ctx, "forecast_latency", "no limits, 60 to 120 ms a call", byLatency, wiring.NoQuota()),
	)
}

// forecastOf reports the worst of several worlds: a forecast is as good as the
// one that misled.
func (l *lab) forecastOf(ctx context.Context, name, bound string, o sim.Options, q quota.Config) error {
	var calls, ends []float64
	var asked string
	for round := range l.rounds() {
		o.Seed = uint64(37 + round)
		said, run, err := l.forecastOnce(ctx, o, q)
		if err != nil {
			return err
		}
		early, why, err := firstTwentieth(said, run.Calls)
		if err != nil {
			return err
		}
		off := early.misses(run)
		calls, ends = append(calls, off.calls), append(ends, off.end)
		asked = why
		l.notef("%s, round %d: %s, after %d of %d calls and %.1f s: said %d calls and %.1f s, it took %.1f s", name, round+1, why,
			early.done, run.Calls, early.at.Sub(run.CreatedAt).Seconds(), early.known,
			early.ends.Sub(run.CreatedAt).Seconds(), run.FinishedAt.Sub(run.CreatedAt).Seconds())
	}
	line := func(what string, all []float64) report.Line {
		worst := farthest(all)
		return report.Line{
			Name: name + what, Value: worst, Unit: "% off",
			Detail: fmt.Sprintf("%s; asked %s; the worst of %.3g", bound, asked, all),
		}.Aim("within 10 %", math.Abs(worst) <= 10)
	}
	return errors.Join(l.report.Add(line("_calls", calls)), l.report.Add(line("_end", ends)))
}

// farthest is the value farthest from zero.
func farthest(values []float64) float64 {
	far := 0.0
	for _, v := range values {
		if math.Abs(v) > math.Abs(far) {
			far = v
		}
	}
	return far
}

// miss is how far a forecast was off, in percent of what came.
type miss struct{ calls, end float64 }

// misses compares a forecast with the run as it ended. A forecast that named
// no end is off by all of it.
func (o outlook) misses(run domain.Run) miss {
	m := miss{calls: 100 * float64(o.known-run.Calls) / float64(run.Calls), end: -100}
	if !o.ends.IsZero() {
		m.end = 100 * o.ends.Sub(run.FinishedAt).Seconds() / run.FinishedAt.Sub(run.CreatedAt).Seconds()
	}
	return m
}

func (l *lab) forecastOnce(ctx context.Context, o sim.Options, q quota.Config) (said []outlook, run domain.Run, err error) {
	t, err := l.openThrift(ctx, o, q)
	if err != nil {
		return nil, run, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if run, err = t.svc.Engine.StartRun(ctx, t.accounts[0], domain.TriggerManual, domain.PriorityHigh); err != nil {
		return nil, run, err
	}
	return t.follow(ctx, run.ID)
}

// follow writes down what a run says about its end until it has ended.
func (t *thriftLab) follow(ctx context.Context, id int64) (said []outlook, run domain.Run, err error) {
	for {
		if run, err = t.svc.State.Run(ctx, id); err != nil {
			return said, run, err
		}
		if !run.Status.Active() {
			break
		}
		p, err := t.svc.Engine.Progress(ctx, run)
		if err != nil {
			return said, run, err
		}
		if p.Forecast != nil {
			said = append(said, outlook{time.Now(), p.Done(), p.Known, p.Forecast.Discovering, p.ETA})
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return said, run, err
		}
	}
	if run.Status != domain.RunCompleted || run.Failed > 0 {
		return said, run, fmt.Errorf("run %d is %s, %d jobs failed: %s", run.ID, run.Status, run.Failed, run.Reason)
	}
	return said, run, nil
}

// firstTwentieth finds the forecast made after 5 % of the calls; if repositories
// were still being found then, the first one after that.
func firstTwentieth(said []outlook, calls int64) (o outlook, why string, err error) {
	why = "after 5 % of the calls"
	for _, o := range said {
		if o.done*20 < calls {
			continue
		}
		if o.discovering {
			why = "when discovery was over, later than 5 % of the calls"
			continue
		}
		return o, why, nil
	}
	return o, "", errors.New("the run made no forecast between its discovery and its end")
}
