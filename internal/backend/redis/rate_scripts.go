package redis

import (
	"context"
	"strconv"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// rateScripts are the scripts by name.
var rateScripts = loadRateScripts()

type rateScriptSet struct {
	reserve, begin, adjust, usage *luaScript
}

func loadRateScripts() rateScriptSet {
	load := func(name string) *luaScript { return loadScript("rate", "common", name) }
	return rateScriptSet{reserve: load("reserve"), begin: load("begin"), adjust: load("adjust"), usage: load("usage")}
}

// run calls a script with what every script is told and with what this one is,
// and returns the numbers it answers with.
func (u *upstream) run(ctx context.Context, s *luaScript, args ...string) ([]int64, error) {
	defer u.opts.Hold()()
	sent := u.opts.Passed()
	m, err := s.run(ctx, u.db, []string{u.key}, append([]string{u.clock(), u.vouch(), u.terms}, args...))
	if err != nil {
		return nil, err
	}
	if m.IsArray() {
		numbers, err := m.AsIntSlice()
		if err != nil || len(numbers) == 0 {
			return nil, errUnexpectedAnswer
		}
		if len(numbers) > 1 && s != rateScripts.usage {
			u.learn(numbers, sent, u.opts.Passed())
		}
		return numbers, nil
	}
	number, err := m.AsInt64()
	if err != nil {
		return nil, errUnexpectedAnswer
	}
	return []int64{number}, nil
}

// errUnexpectedAnswer is the error of an answer that is not like those of the scripts.
var errUnexpectedAnswer = domain.Errorf(domain.CodeUnavailable, "redis: a rate script answered something else")

// clock is what scripts are told about the time: nothing, except in tests.
func (u *upstream) clock() string {
	if u.opts.Clock == nil {
		return ""
	}
	return strconv.FormatInt(u.opts.Clock().UnixMicro(), 10)
}

// now is the wall clock of this process.
func (u *upstream) now() time.Time {
	if u.opts.Clock == nil {
		return time.Now()
	}
	return u.opts.Clock()
}

func termsRecord(t rate.Terms) string {
	var r record
	r.int64s(t.Rate, t.LowRate, t.Burst, t.LowBurst, t.Reserve, t.Guard, t.Daily, t.DailyReserve, t.Chunk)
	return string(r)
}

func dayRecord(d rate.Day) string {
	var r record
	r.int64s(d.Number, d.Start.UnixMicro(), d.End.UnixMicro())
	return string(r)
}
