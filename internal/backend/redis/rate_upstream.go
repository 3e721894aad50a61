package redis

import (
	"context"
	"sync"
	"time"

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// upstream is one upstream, as this process knows it.
type upstream struct {
	db     *DB
	key    string
	limits rate.Limits
	terms  string
	opts   RateOptions
	ledger *rate.Ledger
	asks   *batch.Group[rateAsk]
	// beginning is whose turn it is to restore the state or its day.
	beginning rate.Turn

	mu sync.Mutex
	// day is the one that Redis was in when it was asked last.
	day rate.Day
	// last is what the state told last.
	last contact
	// pausedUntil is on the clock of the time that passes.
	pausedUntil time.Duration
}

// contact is what the state told when it answered: which state it is, how many
// calls it has granted, the scale and turns of its time, and the server's clock;
// between which instants of the time that passes that was; and whether this
// process was a newcomer.
type contact struct {
	epoch, granted, scale, turns, clock int64
	sent, received                      time.Duration
	newcomer                            bool
	// ahead is by how much the state's time is ahead of the time that passes, at
	// least: what the fastest answer told since a while. Clocks drift.
	ahead int64
	since time.Duration
}

// clockAllowance is how much longer than the last one a request may take before the
// server's clock is doubted. A clock that is set forward by less goes unnoticed:
// that is nine calls of 450 a second.
const clockAllowance = 20 * time.Millisecond

// aheadFor is for how long the fastest answer counts.
const aheadFor = time.Minute

// What scripts tell a process about whether it is a newcomer.
const (
	staysNewcomer   = 1
	becomesNewcomer = 2
)

func newUpstream(db *DB, name string, l rate.Limits, o RateOptions) *upstream {
	u := &upstream{
		db: db, key: db.OwnKey(name, "rate"), limits: l, terms: termsRecord(l.Terms()), opts: o,
		ledger: rate.NewLedger(name, l, o.Store, o.Passed), beginning: rate.NewTurn(),
	}
	u.asks = batch.New(rateBatch, u.reserve)
	u.day = l.DayAt(u.now())
	return u
}

// vouch says what this process knows of the state that answered last, and how
// long ago that was.
func (u *upstream) vouch() string {
	passed := u.opts.Passed()
	slack := clockAllowance
	if u.opts.Clock != nil {
		slack = 0 // a test's requests take no time
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	var r record
	if c := u.last; c.epoch == 0 {
		r.int64s(0, 0, 0, 0, 0, 0, 0, 0, 0)
	} else {
		r.int64s(c.epoch, c.granted, c.ahead+passed.Microseconds(), c.scale, c.turns, c.clock)
		trip := c.received - c.sent
		r.int64s((passed - c.received).Microseconds(), (passed - c.sent + trip + slack).Microseconds())
		r.booleans(c.newcomer)
	}
	return string(r)
}

// learn notes what an answer told about the state. A newcomer goes by the first
// answer: from then on it counts for how long it is one.
func (u *upstream) learn(numbers []int64, sent, received time.Duration) {
	if len(numbers) < 7 || numbers[6] == staysNewcomer {
		return
	}
	c := contact{
		clock: numbers[0], epoch: numbers[1], granted: numbers[2], scale: numbers[4], turns: numbers[5],
		newcomer: numbers[6] == becomesNewcomer, sent: sent, received: received,
		ahead: numbers[3] - received.Microseconds(), since: received,
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if c.epoch == u.last.epoch {
		c.granted = max(c.granted, u.last.granted)
		if c.scale == u.last.scale && received-u.last.since < aheadFor {
			c.ahead, c.since = max(c.ahead, u.last.ahead), u.last.since
		}
	}
	u.last = c
}

func (u *upstream) today() rate.Day {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.day
}

// known runs a script that needs the state and its day, restoring them first if
// it answers with the server's clock alone.
func (u *upstream) known(ctx context.Context, s *luaScript, args ...string) ([]int64, rate.Day, error) {
	for range restoreTries {
		d := u.today()
		numbers, err := u.run(ctx, s, append([]string{dayRecord(d)}, args...)...)
		if err != nil || len(numbers) > 1 {
			return numbers, d, err
		}
		if err := u.restore(ctx, d, time.UnixMicro(numbers[0])); err != nil {
			return nil, d, err
		}
	}
	return nil, rate.Day{}, domain.Errorf(domain.CodeUnavailable, "redis: the rate of an upstream vanished %d times in a row", restoreTries)
}

// restore lets Redis know the day that it is in, by the server's clock. If d was
// not that day, asking again may be all it takes.
func (u *upstream) restore(ctx context.Context, d rate.Day, server time.Time) error {
	if !d.Has(server) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.day = u.limits.DayAt(server)
		return nil
	}
	if err := u.beginning.Take(ctx); err != nil {
		return err
	}
	defer u.beginning.End()
	stored, ceiling, err := u.ledger.Begin(ctx, d)
	if err != nil {
		return err
	}
	var r record
	r.int64s(stored.Calls, stored.Low, ceiling, u.pauseLeft().Microseconds())
	_, err = u.run(ctx, rateScripts.begin, dayRecord(d), string(r))
	return err
}

// adjust changes the state, if there is one.
func (u *upstream) adjust(ctx context.Context, what string, r record) (bool, error) {
	n, err := u.run(ctx, rateScripts.adjust, what, string(r))
	return err == nil && n[0] == 1, err
}

// pauseLeft is how long a pause lasts that this process knows of.
func (u *upstream) pauseLeft() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return max(u.pausedUntil-u.opts.Passed(), 0)
}

// rememberPause lets this process know of a pause, in case Redis forgets it.
func (u *upstream) rememberPause(left time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pausedUntil = max(u.pausedUntil, u.opts.Passed()+left)
}

func (u *upstream) pause(ctx context.Context, until time.Time) error {
	left := until.Sub(u.now())
	u.rememberPause(left)
	var r record
	r.int64s(left.Microseconds(), 0)
	done, err := u.adjust(ctx, "pause", r)
	if done || err != nil {
		return err
	}
	// The state that is made anew is told of the pause.
	_, _, err = u.known(ctx, rateScripts.usage)
	return err
}

func (u *upstream) usage(ctx context.Context) (rate.Usage, error) {
	n, d, err := u.known(ctx, rateScripts.usage)
	if err != nil {
		return rate.Usage{}, err
	}
	if len(n) < 4 {
		return rate.Usage{}, errUnexpectedAnswer
	}
	usage := rate.Usage{Day: d.String(), Used: n[1], UsedLow: n[2], Daily: u.limits.Daily, ResetsAt: d.End, PerSecond: u.limits.Rate, LowPerSecond: u.limits.LowRate}
	if n[3] > 0 {
		usage.PausedTill = u.now().Add(time.Duration(n[3]) * time.Microsecond)
	}
	return usage, nil
}
