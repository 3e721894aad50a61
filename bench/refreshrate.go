package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/bench/proc"
	"sluice/bench/report"
	"sluice/bench/servers"
	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
	sim "sluice/internal/simulator/maplestory"
)

const (
	// The game allows refreshHard calls in any second, of which Sluice grants
	// itself refreshGranted; refreshUsed of them must be made.
	refreshHard, refreshGranted, refreshUsed = 500, 450, 445
	// rateWorkers processes carry refreshes out.
	rateWorkers = 4
	// rateHigh are asked for as HIGH in every second; LOW fills up what waits to
	// rateBacklog. HIGH alone would not use the rate, and LOW alone may not.
	rateHigh, rateBacklog = 200, 2_000
	rateTick              = 100 * time.Millisecond
	// rateFlows is how many calls were made when traffic flows: everybody has
	// joined, and the work is shared out.
	rateFlows = 5 * refreshGranted
)

// refreshRate measures how many calls four processes make together while there
// is always work, and whether they ever make too many, as the game counts.
func refreshRate(ctx context.Context, l *lab) error {
	for _, kafka := range []bool{false, true} {
		carrier := "redis"
		if kafka {
			carrier = "kafka"
		}
		if err := l.refreshRate(ctx, carrier, kafka); err != nil {
			return fmt.Errorf("through %s: %w", carrier, err)
		}
	}
	return nil
}

func (l *lab) refreshRate(ctx context.Context, carrier string, kafka bool) (err error) {
	span := time.Duration(l.size(600, 15)) * time.Second
	// Everybody is asked for once.
	characters := int(span.Seconds()+60) * refreshHard
	f, err := l.refreshFleet(ctx, kafka, characters)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := errors.Join(f.enlist(ctx, "api", 1), f.enlist(ctx, "refresh", rateWorkers)); err != nil {
		return err
	}
	feed := &rateFeeder{fleet: f}
	if feed.api, err = f.client(0); err != nil {
		return err
	}
	flows, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := feed.until(flows, func(a sim.Audit) bool { return a.Calls >= rateFlows }); err != nil {
		return fmt.Errorf("%d calls were made, then no more: %w", feed.seen.Calls, err)
	}
	feed.least = feed.waiting()
	before, err := f.used()
	if err != nil {
		return err
	}
	calls, began := feed.seen.Calls, feed.at
	if err := feed.until(ctx, func(sim.Audit) bool { return feed.at.Sub(began) >= span }); err != nil {
		return err
	}
	after, err := f.used()
	if err != nil {
		return err
	}
	n := feed.seen.Calls - calls
	perSecond := float64(n) / feed.at.Sub(began).Seconds()
	l.notef("through %s: %.1f calls/s over %.0f s, at most %d in a second, %d violations; never fewer than %d waited",
		carrier, perSecond, feed.at.Sub(began).Seconds(), feed.seen.LargestSecond, feed.seen.Violations, feed.least)
	return l.reportRate(carrier, perSecond, feed, after.perCall(before, n))
}

func (l *lab) reportRate(carrier string, perSecond float64, feed *rateFeeder, spent string) error {
	audit := feed.seen
	rate := report.Line{
		Name: "refresh_rate_" + carrier, Value: perSecond, Unit: "calls/s",
		Detail: fmt.Sprintf("%d processes work and one answers requests; never fewer than %d requests waited, %d were refused; µs/call of the processors: %s",
			rateWorkers, feed.least, feed.refused, spent),
	}.Against("calls that are granted", refreshGranted)
	second := report.Line{
		Name: "refresh_rate_second_" + carrier, Value: float64(audit.LargestSecond), Unit: "calls",
		Detail: "the most in any sliding second, from the first call on, as the simulated game counted them",
	}.Against("calls that are allowed", refreshHard)
	violations := report.Line{
		Name: "refresh_rate_violations_" + carrier, Value: float64(audit.Violations), Unit: "calls",
		Detail: fmt.Sprintf("beyond the second, the day or without the key, of %d", audit.Calls),
	}
	return errors.Join(
		l.report.Add(rate.Aim(fmt.Sprintf(">= %d", refreshUsed), perSecond >= refreshUsed)),
		l.report.Add(second.Aim(fmt.Sprintf("<= %d", refreshHard), audit.LargestSecond <= refreshHard)),
		l.report.Add(violations.Aim("0", audit.Violations == 0)),
	)
}

// rateFeeder sees to it that there is always work.
type rateFeeder struct {
	fleet *refreshFleet
	api   *client.Client
	// next is the first character that nobody has asked for.
	next              int
	accepted, refused int64
	// seen is what the game said last, at the instant at.
	seen sim.Audit
	at   time.Time
	// least is the fewest requests that waited.
	least int64
}

func (r *rateFeeder) waiting() int64 { return r.accepted - r.seen.Calls }

// until feeds and looks until something holds.
func (r *rateFeeder) until(ctx context.Context, holds func(sim.Audit) bool) error {
	tick := time.NewTicker(rateTick)
	defer tick.Stop()
	for {
		var err error
		if r.seen, err = r.fleet.game.audit(ctx); err != nil {
			return err
		}
		r.at = time.Now()
		r.least = min(r.least, r.waiting())
		if holds(r.seen) {
			return nil
		}
		r.ask(ctx, domain.PriorityHigh, int(rateHigh*rateTick/time.Second))
		r.ask(ctx, domain.PriorityLow, int(rateBacklog-r.waiting()))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask asks for characters that nobody has asked for yet.
func (r *rateFeeder) ask(ctx context.Context, p domain.Priority, n int) {
	const most = 1000 // that a request may name
	for n > 0 {
		part := min(n, most)
		answer, err := r.api.Refresh(ctx, wire.RefreshRequest{Source: gameSource, Keys: r.fleet.game.keys(r.next, part), Priority: p.String()})
		if err != nil {
			r.refused += int64(part)
			return
		}
		for _, one := range answer.Results {
			if one.Result == refresh.Published.String() {
				r.accepted++
			}
		}
		r.next += part
		n -= part
	}
}

// fleetTime is the processor time of a fleet: its processes by role, the game
// and the servers.
type fleetTime struct {
	processes map[string]time.Duration
	servers   serverTime
}

func (f *refreshFleet) used() (t fleetTime, err error) {
	t.processes = map[string]time.Duration{}
	read := func(role string, s *service) {
		usage, failed := proc.Read(s.cmd.Process.Pid)
		t.processes[role] += time.Duration(usage.Ticks) * time.Second / proc.TicksPerSecond
		err = errors.Join(err, failed)
	}
	for role, members := range f.members {
		for _, s := range members {
			read(role, s)
		}
	}
	read("game", f.game.service)
	if err != nil {
		return t, err
	}
	t.servers, err = f.lab.serverTime(f.servers()...)
	return t, err
}

// servers are those that run.
func (f *refreshFleet) servers() (kinds []servers.Kind) {
	for _, kind := range refreshServers {
		if f.lab.servers.Pid(kind) != 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// perCall says what everybody took for each of n calls since earlier.
func (t fleetTime) perCall(earlier fleetTime, n int64) string {
	var parts []string
	for _, role := range []string{"refresh", "api", "game"} {
		parts = append(parts, fmt.Sprintf("%s %.0f", role, float64((t.processes[role]-earlier.processes[role]).Microseconds())/float64(n)))
	}
	return strings.Join(append(parts, t.servers.perJob(earlier.servers, int(n))), ", ")
}
