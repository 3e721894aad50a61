package memory

import (
	"context"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// upstream is one upstream with its meter.
type upstream struct {
	limits rate.Limits
	terms  rate.Terms
	clock  rateClock
	ledger *rate.Ledger
	// beginning is whose turn it is to begin a day, which is written down once.
	beginning rate.Turn

	mu    sync.Mutex
	meter rate.Meter
	day   rate.Day
}

func newUpstream(name string, l rate.Limits, s rate.Store, c rateClock) *upstream {
	_, passed := c.read()
	return &upstream{
		limits: l, terms: l.Terms(), clock: c, ledger: rate.NewLedger(name, l, s, c.passed),
		meter: rate.NewMeter(l.Terms(), passed), beginning: rate.NewTurn(),
	}
}

// reserve asks the meter, again after the day's count was written down.
func (u *upstream) reserve(ctx context.Context, p domain.Priority, n int64) (rate.Grant, error) {
	for {
		g, todo := u.take(p, n)
		stuck := g.Calls == 0 && (g.Reason == rate.ReasonSave || g.Reason == "")
		switch {
		case todo != nil && stuck:
			if err := todo(ctx); err != nil {
				return rate.Grant{}, err
			}
		case todo != nil:
			// There is enough for now: nobody waits for the store. If it fails,
			// the next one who is told to write tells its caller.
			u.ledger.Background(func() { _ = todo(context.WithoutCancel(ctx)) })
			return g, nil
		case !stuck || !u.ledger.Await(ctx):
			return g, nil
		}
	}
}

// take asks the meter. It returns what is to be done at the store, if
// anything; with neither calls nor a reason, before asking again.
func (u *upstream) take(p domain.Priority, n int64) (rate.Grant, func(context.Context) error) {
	now, passed := u.clock.read()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.meter.Advance(&u.terms, passed)
	if !u.day.Has(now) {
		return rate.Grant{}, u.begin(u.limits.DayAt(now))
	}
	taken := u.meter.Take(&u.terms, p, n, u.day.End.Sub(now).Microseconds())
	g := rate.Grant{Calls: int(taken.Calls), Reason: taken.Reason}
	if taken.Reason != "" {
		g.RetryAt = now.Add(time.Duration(taken.Wait) * time.Microsecond)
	}
	if u.meter.SaveDue(&u.terms) {
		return g, u.extend()
	}
	return g, nil
}

// begin returns what goes over to another day.
func (u *upstream) begin(d rate.Day) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := u.beginning.Take(ctx); err != nil {
			return err
		}
		defer u.beginning.End()
		if u.today() == d.Number {
			return nil
		}
		stored, ceiling, err := u.ledger.Begin(ctx, d)
		if err != nil {
			return err
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.meter.Begin(d.Number, stored, ceiling)
		u.day = d
		return nil
	}
}

func (u *upstream) today() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.day.Number
}

// extend returns what writes down a chunk more. The caller holds the lock.
func (u *upstream) extend() func(context.Context) error {
	d, used := u.day, rate.Spent{Calls: u.meter.Used, Low: u.meter.UsedLow}
	return func(ctx context.Context) error {
		ceiling, err := u.ledger.Extend(ctx, d, used)
		if err != nil {
			return err
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.meter.Raise(d.Number, ceiling)
		return nil
	}
}

func (u *upstream) usage(ctx context.Context) (rate.Usage, error) {
	for {
		usage, todo := u.look()
		if todo == nil {
			return usage, nil
		}
		if err := todo(ctx); err != nil {
			return rate.Usage{}, err
		}
	}
}

func (u *upstream) look() (rate.Usage, func(context.Context) error) {
	now, passed := u.clock.read()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.meter.Advance(&u.terms, passed)
	if !u.day.Has(now) {
		return rate.Usage{}, u.begin(u.limits.DayAt(now))
	}
	usage := rate.Usage{
		Day: u.day.String(), Used: u.meter.Used, UsedLow: u.meter.UsedLow, Daily: u.limits.Daily, ResetsAt: u.day.End,
		PerSecond: u.limits.Rate, LowPerSecond: u.limits.LowRate,
	}
	if left := u.meter.Paused - u.meter.Now; left > 0 {
		usage.PausedTill = now.Add(time.Duration(left) * time.Microsecond)
	}
	return usage, nil
}
