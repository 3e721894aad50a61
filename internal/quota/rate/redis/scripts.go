package redis

import (
	"context"
	"embed"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/redisdb"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// scripts are what Redis runs for a keeper.
type scripts struct {
	reserve, begin, adjust, usage *redisdb.Script
}

func loadScripts() scripts {
	load := func(name string) *redisdb.Script {
		return redisdb.LoadScript(scriptFiles, "scripts/common.lua", "scripts/"+name+".lua")
	}
	return scripts{reserve: load("reserve"), begin: load("begin"), adjust: load("adjust"), usage: load("usage")}
}

// run calls a script with what every script is told and with what this one is,
// and returns the numbers it answers with.
func (u *upstream) run(ctx context.Context, s *redisdb.Script, args ...string) ([]int64, error) {
	sent := u.opts.Passed()
	m, err := s.Run(ctx, u.db, []string{u.key}, append([]string{u.clock(), u.vouch(), u.terms}, args...))
	if err != nil {
		return nil, err
	}
	if m.IsArray() {
		numbers, err := m.AsIntSlice()
		if err != nil || len(numbers) == 0 {
			return nil, errStrange
		}
		if len(numbers) > 1 && s != u.scripts.usage {
			u.learn(numbers, sent, u.opts.Passed())
		}
		return numbers, nil
	}
	number, err := m.AsInt64()
	if err != nil {
		return nil, errStrange
	}
	return []int64{number}, nil
}

// errStrange is the error of an answer that is not like those of the scripts.
var errStrange = domain.Errorf(domain.CodeUnavailable, "redis: a rate script answered something else")

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

// record is a row of doubles, as the scripts read them.
type record []byte

func (r *record) integers(all ...int64) {
	for _, n := range all {
		*r = binary.LittleEndian.AppendUint64(*r, math.Float64bits(float64(n)))
	}
}

func (r *record) booleans(all ...bool) {
	for _, b := range all {
		if b {
			r.integers(1)
		} else {
			r.integers(0)
		}
	}
}

func termsRecord(t rate.Terms) string {
	var r record
	r.integers(t.Rate, t.LowRate, t.Burst, t.LowBurst, t.Reserve, t.Guard, t.Daily, t.DailyReserve, t.Chunk)
	return string(r)
}

func dayRecord(d rate.Day) string {
	var r record
	r.integers(d.Number, d.Start.UnixMicro(), d.End.UnixMicro())
	return string(r)
}
