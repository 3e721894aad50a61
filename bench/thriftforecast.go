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
// compares the answer with what came. One run is held up by quota windows, the
// other by nothing but the time that each call takes.
func forecast(ctx context.Context, l *lab) error {
	limit, window := 100, time.Duration(l.size(5, 3))*time.Second
	shape := &sim.Shape{
		Repos: sim.Exactly(l.size(100, 20)), Commits: sim.Between(0, 2000), Issues: sim.Between(0, 1500), Pulls: sim.Between(0, 300),
	}
	byQuota := sim.Options{
		Seed: 37, Accounts: 1, Shape: shape, Latency: sim.Latency{Fixed: 10 * time.Millisecond, Jitter: 10 * time.Millisecond},
		Limits: sim.Limits{Window: window, CoreLimit: limit, GraphQLLimit: limit, RESTPoints: generous, GraphQLPoints: generous},
	}
	byLatency := sim.Options{
		Seed: 37, Accounts: 1, Shape: shape, Limits: boundless(),
		Latency: sim.Latency{Fixed: 60 * time.Millisecond, Jitter: 60 * time.Millisecond},
	}
	return errors.Join(
		l.forecastOf(ctx, "forecast_quota", fmt.Sprintf("windows of %d calls in %s", limit, window), byQuota, shortQuota(limit, window)),
		l.forecastOf(ctx, "forecast_latency", "no limits, 60 to 120 ms a call", byLatency, wiring.NoQuota()),
	)
}

func (l *lab) forecastOf(ctx context.Context, name, bound string, o sim.Options, q quota.Config) (err error) {
	t, err := l.openThrift(ctx, o, q)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	run, err := t.svc.Engine.StartRun(ctx, t.accounts[0], domain.TriggerManual, domain.PriorityHigh)
	if err != nil {
		return err
	}
	said, run, err := t.follow(ctx, run.ID)
	if err != nil {
		return err
	}
	early, why, err := firstTwentieth(said, run.Calls)
	if err != nil {
		return err
	}
	took := run.FinishedAt.Sub(run.CreatedAt)
	detail := fmt.Sprintf("%s; asked %s, after %d of %d calls and %.1f of %.1f s", bound, why, early.done, run.Calls,
		early.at.Sub(run.CreatedAt).Seconds(), took.Seconds())
	calls := 100 * float64(early.known-run.Calls) / float64(run.Calls)
	end := 100.0
	if !early.ends.IsZero() {
		end = 100 * early.ends.Sub(run.FinishedAt).Seconds() / took.Seconds()
	}
	return errors.Join(
		l.report.Add(report.Line{Name: name + "_calls", Value: calls, Unit: "% off", Detail: fmt.Sprintf("%s; said %d", detail, early.known)}.
			Aim("within 10 %", math.Abs(calls) <= 10)),
		l.report.Add(report.Line{Name: name + "_end", Value: end, Unit: "% off", Detail: fmt.Sprintf("%s; said %.1f s", detail, early.ends.Sub(run.CreatedAt).Seconds())}.
			Aim("within 10 %", math.Abs(end) <= 10)),
	)
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
