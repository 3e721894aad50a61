package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sluice/bench/report"
	"sluice/internal/refresh"
	sim "sluice/internal/simulator/maplestory"
)

const (
	// freeTarget is how many refreshes a second the embedded pipeline must be
	// good for: so many that it never is what limits the rate.
	freeTarget = 10_000
	// freeBodies is how many different values there are.
	freeBodies = 256
)

// freeValues are such values as are kept of the game, about 17 KB each.
func freeValues() []refresh.Fetched {
	world := sim.New(sim.Options{Characters: freeBodies})
	out := make([]refresh.Fetched, freeBodies)
	for i := range out {
		truth, _ := world.Truth(world.Ocid(i), time.Now())
		out[i] = refresh.Fetched{Verdict: refresh.FetchDone, Body: truth.Value, Hash: sha256.Sum256(truth.Value), Received: 300_000}
	}
	return out
}

// freeKeys are in no order, as those of people are.
func freeKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = "item-equipment:" + timerID(i)
	}
	return keys
}

// freeUpstream costs nothing: the answer is in memory, trimmed and hashed. The
// end of a key says which it is.
func freeUpstream(values []refresh.Fetched) refresh.Upstream {
	return upstream(func(_ context.Context, key string, sent func()) refresh.Fetched {
		if sent != nil {
			sent()
		}
		number, err := strconv.ParseUint(key[max(0, len(key)-2):], 16, 8)
		if err != nil {
			return refresh.Fetched{Verdict: refresh.FetchDead, Code: "BAD_KEY", Error: err.Error()}
		}
		return values[int(number)%len(values)]
	})
}

// freeRounds are the rounds of one kind of pipeline.
type freeRounds struct {
	fresh, same       []float64
	freshCPU, sameCPU []float64
	// spent is what the servers took in the last round.
	spent string
}

func (r *freeRounds) add(fresh, same effort) {
	r.fresh, r.same = append(r.fresh, fresh.perSecond()), append(r.same, same.perSecond())
	r.freshCPU, r.sameCPU = append(r.freshCPU, perCall(fresh)), append(r.sameCPU, perCall(same))
}

// refreshFree measures refreshes without a rate limit and with an upstream that
// costs nothing: of values that are new, and once more of the same values.
func refreshFree(ctx context.Context, l *lab) error {
	values := freeValues()
	n, shared := l.size(50_000, 5_000), l.size(20_000, 2_000)
	keys := freeKeys(n)
	var embedded, fleet freeRounds
	var raw rawFree
	for round := range l.rounds() {
		if err := l.rawFree(ctx, &raw, values, keys); err != nil {
			return err
		}
		if err := l.freeEmbedded(ctx, &embedded, values, keys); err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
		l.notef("round %d: embedded %.0f new and %.0f unchanged a second, SQL alone %.0f and %.0f, compressing and hashing %.0f",
			round+1, embedded.fresh[round], embedded.same[round], raw.inserts[round], raw.updates[round], raw.packs[round])
		if err := l.freeShared(ctx, &fleet, values, keys[:shared]); err != nil {
			return fmt.Errorf("with servers: %w", err)
		}
		l.notef("round %d: with Kafka, Redis and MariaDB %.0f new and %.0f unchanged a second", round+1, fleet.fresh[round], fleet.same[round])
	}
	return errors.Join(l.reportFree(embedded, raw, n), l.reportFreeShared(fleet, raw, shared))
}

func (l *lab) freeEmbedded(ctx context.Context, r *freeRounds, values []refresh.Fetched, keys []string) (err error) {
	dir, remove, err := l.folder("free")
	if err != nil {
		return err
	}
	defer remove()
	p, err := openPipeline(ctx, dir, freeUpstream(values))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	return r.both(ctx, p, keys)
}

func (l *lab) freeShared(ctx context.Context, r *freeRounds, values []refresh.Fetched, keys []string) (err error) {
	if _, err := l.emptyRedis(ctx); err != nil {
		return err
	}
	f, err := l.fleet(ctx)
	if err != nil {
		return err
	}
	defer f.drop()
	brokers, err := l.servers.Kafka(ctx)
	if err != nil {
		return err
	}
	p, err := f.openPipeline(ctx, brokers, freeUpstream(values))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	before, err := l.serverTime(refreshServers...)
	if err != nil {
		return err
	}
	if err := r.both(ctx, p, keys); err != nil {
		return err
	}
	after, err := l.serverTime(refreshServers...)
	r.spent = after.perJob(before, 2*len(keys))
	return err
}

// both refreshes all keys, which are new, and refreshes them again.
func (r *freeRounds) both(ctx context.Context, p *pipeline, keys []string) error {
	fresh, err := p.work(ctx, keys)
	if err != nil {
		return fmt.Errorf("new values: %w", err)
	}
	same, err := p.work(ctx, keys)
	if err != nil {
		return fmt.Errorf("unchanged values: %w", err)
	}
	c := p.Worker().Counters()
	if n := int64(len(keys)); c.Stored.Load() != n || c.Touched.Load() != n {
		return fmt.Errorf("%d values were stored and %d were the same, want %d of each", c.Stored.Load(), c.Touched.Load(), n)
	}
	r.add(fresh, same)
	return nil
}

func (l *lab) reportFree(r freeRounds, raw rawFree, n int) error {
	detail := fmt.Sprintf("%d values of about 17 KB, embedded, median of %d rounds; worked off from a full log", n, len(r.fresh))
	line := func(name string, rates, beside []float64, peer string) report.Line {
		return report.Line{Name: name, Value: report.Median(rates), Unit: "refreshes/s", Detail: detail}.
			Against(peer, report.Median(beside)).WithRatio(report.Median(report.Ratios(rates, beside)))
	}
	fresh := line("refresh_free_new", r.fresh, raw.inserts, "the same rows by plain SQL")
	same := line("refresh_free_same", r.same, raw.updates, "the same rows by plain SQL")
	cpu := report.Line{Name: "refresh_free_new_cpu", Value: report.Median(r.freshCPU), Unit: "µs/refresh", Detail: "processor time of the whole process"}
	sameCPU := report.Line{Name: "refresh_free_same_cpu", Value: report.Median(r.sameCPU), Unit: "µs/refresh", Detail: cpu.Detail}
	return errors.Join(
		l.report.Add(fresh.Aim(">= 10,000", fresh.Value >= freeTarget)),
		l.report.Add(line("refresh_free_new", r.fresh, raw.packs, "compressing and hashing alone")),
		l.report.Add(same.Aim(">= 10,000", same.Value >= freeTarget)),
		l.report.Add(cpu.Against("compressing and hashing alone", report.Median(raw.packCPU))),
		l.report.Add(sameCPU),
	)
}

func (l *lab) reportFreeShared(r freeRounds, raw rawFree, n int) error {
	detail := fmt.Sprintf("%d values, Kafka, Redis and MariaDB on the same processors, median of %d rounds; µs/refresh of both passes in the last round: %s",
		n, len(r.fresh), r.spent)
	fresh := report.Line{Name: "refresh_free_servers_new", Value: report.Median(r.fresh), Unit: "refreshes/s", Detail: detail}
	same := report.Line{Name: "refresh_free_servers_same", Value: report.Median(r.same), Unit: "refreshes/s", Detail: detail}
	cpu := report.Line{Name: "refresh_free_servers_new_cpu", Value: report.Median(r.freshCPU), Unit: "µs/refresh", Detail: "processor time of the program alone"}
	sameCPU := report.Line{Name: "refresh_free_servers_same_cpu", Value: report.Median(r.sameCPU), Unit: "µs/refresh", Detail: cpu.Detail}
	return errors.Join(
		l.report.Add(fresh.Against("compressing and hashing alone", report.Median(raw.packs))),
		l.report.Add(same), l.report.Add(cpu), l.report.Add(sameCPU),
	)
}
