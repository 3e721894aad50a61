package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
	maplesim "sluice/internal/simulator/maplestory"
)

// refreshDemo shows snapshots being read and refreshed, all in one process.
type refreshDemo struct {
	*App
	*options
	flags mapleFlags
	exit  bool

	sim *maplesim.Server
	// url is where the simulated upstream is.
	url string
}

func (d *refreshDemo) run(ctx context.Context) (err error) {
	upstream, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the simulated game API: %w", err)
	}
	d.sim = maplesim.New(d.flags.options())
	server := simulatorServer(d.sim)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(upstream) }()
	defer func() {
		err = errors.Join(err, server.Close())
		if cause := <-ended; !errors.Is(cause, http.ErrServerClosed) {
			err = errors.Join(err, cause)
		}
	}()
	d.url = "http://" + upstream.Addr().String()
	d.Sources = d.Sources.With("maplestory-url", d.url).With("maplestory-key", maplesim.DefaultKey).With("maplestory-per-second", d.flags.perSecond)
	d.Refresh.FreshFor = demoFresh
	so, err := d.service(d.options, "sluice demo --refresh")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	shown := make(chan error, 1)
	err = d.serve(serving, so, func(ctx context.Context, _ *Service, url string) {
		go func() {
			shown <- d.show(ctx, url)
			if d.exit {
				stop()
			}
		}()
	})
	if serving.Err() == nil {
		return err
	}
	outcome := <-shown
	if d.exit && ctx.Err() != nil {
		// What it was to show was not shown.
		return errors.Join(errInterrupted, err)
	}
	return errors.Join(err, outcome)
}

const (
	// demoFresh makes snapshots stale soon, so that there is something to see.
	demoFresh = 20 * time.Second
	// demoReaders read so many snapshots a second together.
	demoReaders, demoReads = 8, 400
)

// show asks for every character once, reads some of them all the time, and says
// each second how things stand.
func (d *refreshDemo) show(ctx context.Context, url string) error {
	c, err := client.New(url, d.HTTP.Token, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: demoReaders}})
	if err != nil {
		return err
	}
	say(d.screen, "simulated MapleStory API at %s: %s characters of %s bytes, %d calls in any second; API at %s/api/v1; dashboard: %s/\n",
		d.url, count(int64(d.flags.characters)), count(int64(d.flags.bodySize)), d.flags.perSecond, url, url)
	characters := d.sim.Characters(0, d.flags.characters)
	if err := d.askForAll(ctx, c, characters); err != nil {
		return err
	}
	reads := newReadings()
	var readers sync.WaitGroup
	defer readers.Wait()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	for range demoReaders {
		readers.Go(func() { d.read(reading, c, characters, reads) })
	}
	if err := d.report(ctx, c, reads); err != nil {
		return err
	}
	stop()
	return d.conclude(context.WithoutCancel(ctx), c, characters)
}

// askForAll asks for all characters with LOW, as a prefetch would.
func (d *refreshDemo) askForAll(ctx context.Context, c *client.Client, characters []maplesim.Character) error {
	for part := range slices.Chunk(characters, 500) {
		q := wire.RefreshRequest{Source: snapshotSource, Priority: domain.PriorityLow.String()}
		for _, one := range part {
			q.Keys = append(q.Keys, one.Ocid)
		}
		if _, err := c.Refresh(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// read reads characters, some of them much more often than others, until ctx
// ends.
func (d *refreshDemo) read(ctx context.Context, c *client.Client, characters []maplesim.Character, into *readings) {
	pace := time.NewTicker(time.Second * demoReaders / demoReads)
	defer pace.Stop()
	popular := rand.NewZipf(rand.New(rand.NewPCG(d.flags.seed, rand.Uint64())), 1.2, 8, uint64(len(characters)-1)) //nolint:gosec // whom to read need not be secret
	for {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		answer, err := c.Snapshot(ctx, refresh.Entity{Source: snapshotSource, Key: characters[popular.Uint64()].Ocid})
		if err == nil {
			into.add(answer.Freshness, time.Since(began))
		}
	}
}

// report says each second how things stand; with --exit-when-done until every
// character has been fetched.
func (d *refreshDemo) report(ctx context.Context, c *client.Client, reads *readings) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	calls := int64(0)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		view, err := c.RefreshOverview(ctx)
		if err != nil {
			return err
		}
		audit := d.sim.Audit()
		stored := int64(0)
		for _, s := range view.Sources {
			stored += s.Counts.Snapshots
		}
		say(d.screen, "%s of %s characters stored; %d calls/s, at most %d in any second; %s; waiting: %s HIGH, %s LOW\n",
			count(stored), count(int64(d.flags.characters)), audit.Calls-calls, audit.LargestSecond, reads.take(),
			count(view.Lags["HIGH"].Records), count(view.Lags["LOW"].Records))
		calls = audit.Calls
		if d.exit && stored >= int64(d.flags.characters) {
			return nil
		}
	}
}

// refreshVerdict is the summary of the demo.
type refreshVerdict struct {
	Characters    int   `json:"characters"`
	TruthMatch    bool  `json:"truth_match"`
	Differences   int   `json:"differences"`
	Calls         int64 `json:"calls"`
	LargestSecond int   `json:"largest_second"`
	Violations    int64 `json:"violations"`
	Received      int64 `json:"received_bytes"`
}

func (d *refreshDemo) conclude(ctx context.Context, c *client.Client, characters []maplesim.Character) error {
	audit := d.sim.Audit()
	v := refreshVerdict{Calls: audit.Calls, LargestSecond: audit.LargestSecond, Violations: audit.Violations, Received: audit.Bytes}
	if d.exit {
		// The service still answers; without --exit-when-done it has ended.
		var err error
		if v.Characters, v.Differences, err = d.compare(ctx, c, characters); err != nil {
			return err
		}
	}
	v.TruthMatch = v.Differences == 0
	if d.json() {
		if err := printJSON(d.Out, v); err != nil {
			return err
		}
	} else {
		d.printVerdict(v)
	}
	if v.Violations > 0 || v.Differences > 0 {
		return fmt.Errorf("%d snapshots differ from the truth, and %d limits were broken", v.Differences, v.Violations)
	}
	return nil
}

// compare looks whether every snapshot is what its character was when it was
// fetched.
func (d *refreshDemo) compare(ctx context.Context, c *client.Client, characters []maplesim.Character) (compared, differ int, err error) {
	for _, one := range characters {
		answer, err := c.Snapshot(ctx, refresh.Entity{Source: snapshotSource, Key: one.Ocid})
		if err != nil {
			return compared, differ, err
		}
		compared++
		if !d.wasTrue(one.Ocid, answer) {
			differ++
		}
	}
	return compared, differ, nil
}

// wasTrue allows for the time between the upstream's answer and its being
// stored.
func (d *refreshDemo) wasTrue(ocid string, answer refresh.Answer) bool {
	const underWay = 5 * time.Second
	for _, at := range []time.Time{answer.LastCheckedAt, answer.LastCheckedAt.Add(-underWay)} {
		if truth, ok := d.sim.Truth(ocid, at); ok && bytes.Equal(truth.Value, answer.Snapshot) {
			return true
		}
	}
	return false
}

func (d *refreshDemo) printVerdict(v refreshVerdict) {
	say(d.Out, "%s calls brought %s bytes; at most %d in any second of %d allowed\n",
		count(v.Calls), count(v.Received), v.LargestSecond, d.flags.perSecond)
	st := d.style(d.Out)
	switch {
	case v.Characters > 0 && v.TruthMatch:
		fmt.Fprintln(d.Out, st.green(fmt.Sprintf("all %s snapshots equal the simulator's truth", count(int64(v.Characters)))))
	case v.Characters > 0:
		fmt.Fprintln(d.Out, st.red(fmt.Sprintf("%d of %d snapshots differ from the simulator's truth", v.Differences, v.Characters)))
	}
	say(d.Out, "calls beyond the limit that the simulator counted: %d\n", v.Violations)
}

// readings gathers what readers saw.
type readings struct {
	mu    sync.Mutex
	by    map[refresh.Freshness]int
	times []time.Duration
}

func newReadings() *readings { return &readings{by: map[refresh.Freshness]int{}} }

func (r *readings) add(f refresh.Freshness, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by[f]++
	r.times = append(r.times, took)
}

// take says what was seen since the last time.
func (r *readings) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.times)
	if n == 0 {
		return "no reads"
	}
	slices.Sort(r.times)
	text := fmt.Sprintf("%d reads/s, p95 %.1f ms, %d%% fresh", n, float64(r.times[n*95/100].Microseconds())/1000,
		100*r.by[refresh.Fresh]/n)
	r.times = r.times[:0]
	clear(r.by)
	return text
}
