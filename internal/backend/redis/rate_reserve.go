package redis

import (
	"context"
	"time"

	"sluice/internal/quota/rate"
)

// rateAsk is an ask on its way.
type rateAsk struct {
	low   bool
	n     int
	grant rate.Grant
	err   error
}

// What reserve.lua answers: so many numbers about the state, and then so many
// for every ask.
const (
	answerState = 10
	answerAsk   = 3
)

// rateReasons are in the order of reserve.lua.
var rateReasons = [...]rate.Reason{"", rate.ReasonRate, rate.ReasonLow, rate.ReasonDaily, rate.ReasonPause, rate.ReasonSave}

// reserve decides asks of concurrent callers together, those of HIGH first.
func (u *upstream) reserve(ctx context.Context, asks []*rateAsk) error {
	ordered := make([]*rateAsk, 0, len(asks))
	for _, low := range []bool{false, true} {
		for _, a := range asks {
			if a.low == low {
				ordered = append(ordered, a)
			}
		}
	}
	save, err := u.decide(ctx, ordered)
	if err != nil {
		return err
	}
	var waiting []*rateAsk
	for _, a := range ordered {
		if a.grant.Calls == 0 && a.grant.Reason == rate.ReasonSave {
			waiting = append(waiting, a)
		}
	}
	if len(waiting) > 0 {
		u.reserveSaved(ctx, waiting, save)
	} else if save != nil {
		// There is enough for now: nobody waits for the store. If it fails, the
		// next one who is told to write tells its caller.
		u.ledger.Background(func() { _ = save(ctx) })
	}
	return nil
}

// reserveSaved decides again about asks that wait for the day's count to be
// written down: by the caller if save is given, else by who is at it already.
func (u *upstream) reserveSaved(ctx context.Context, waiting []*rateAsk, save func(context.Context) error) {
	var err error
	if save != nil {
		err = save(ctx)
	} else if !u.ledger.Await(ctx) {
		return
	}
	if err == nil {
		_, err = u.decide(ctx, waiting)
	}
	for _, a := range waiting {
		a.err = err
	}
}

// decide asks Redis. It returns what writes the day's count down if that is
// due.
func (u *upstream) decide(ctx context.Context, asks []*rateAsk) (func(context.Context) error, error) {
	blob := make(record, 0, len(asks)*16)
	for _, a := range asks {
		blob.booleans(a.low)
		blob.int64s(int64(a.n))
	}
	n, d, err := u.known(ctx, rateScripts.reserve, string(blob))
	if err != nil {
		return nil, err
	}
	if len(n) != answerState+answerAsk*len(asks) {
		return nil, errUnexpectedAnswer
	}
	now := u.now()
	for i, a := range asks {
		one := n[answerState+answerAsk*i:]
		a.grant = rate.Grant{Calls: int(one[0]), Reason: rateReasons[one[1]]}
		if one[1] != 0 {
			left := time.Duration(one[2]) * time.Microsecond
			a.grant.RetryAt = now.Add(left)
			if a.grant.Reason == rate.ReasonPause {
				u.rememberPause(left)
			}
		}
	}
	if n[7] == 0 {
		return nil, nil
	}
	used := rate.Spent{Calls: n[8], Low: n[9]}
	return func(ctx context.Context) error { return u.save(ctx, d, used) }, nil
}

// save writes down a chunk more and lets Redis know.
func (u *upstream) save(ctx context.Context, d rate.Day, used rate.Spent) error {
	ceiling, err := u.ledger.Extend(ctx, d, used)
	if err != nil {
		return err
	}
	var r record
	r.int64s(d.Number, ceiling)
	_, err = u.adjust(ctx, "raise", r)
	return err
}
