package refresh_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
	maplesim "sluice/internal/simulator/maplestory"
)

const (
	// feedBatch entities are asked for at once, feedEvery so often, by one
	// caller for each priority.
	feedBatch = 25
	feedEvery = 200 * time.Millisecond
	// feedChanges of them change just before.
	feedChanges = 5
	// feedCallers look at the game or the API at once, in the end; feedMost
	// entities are asked for at once then.
	feedCallers, feedMost = 8, 200
	// fullSecond is how many calls in a second are worth a word.
	fullSecond = 475
	// feedPause is how long a caller waits who was refused.
	feedPause = 500 * time.Millisecond
	// feedPatience is how long a caller waits for an answer.
	feedPatience = 10 * time.Second
)

// feeder asks for refreshes and remembers what it was promised.
type feeder struct {
	*refreshMachines
	keys   []string
	cancel context.CancelFunc
	work   sync.WaitGroup

	asked, refused, coalesced, accepted, changed atomic.Int64

	mu sync.Mutex
	// promised is the last request for a key that was accepted.
	promised map[string]promise
}

// promise is a request that was accepted: the key is asked for at the game
// after it was made.
type promise struct {
	version int64
	asked   time.Time
}

// feed begins to ask, and to change what the game tells.
func (m *refreshMachines) feed(ctx context.Context, seed uint64) *feeder {
	m.T.Helper()
	running, cancel := context.WithCancel(ctx)
	f := &feeder{refreshMachines: m, keys: m.game.Ocids(), cancel: cancel, promised: map[string]promise{}}
	for i, priority := range []domain.Priority{domain.PriorityHigh, domain.PriorityLow} {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		f.work.Go(func() { f.run(running, random, priority) })
	}
	f.work.Go(func() { f.watch(running) })
	return f
}

// watch says between which faults the fullest seconds were.
func (f *feeder) watch(ctx context.Context) {
	look := time.NewTicker(feedEvery)
	defer look.Stop()
	for said, slowest := fullSecond, time.Duration(0); ; {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		var audit maplesim.Audit
		began := time.Now()
		err := f.game.Get(ctx, "audit", &audit)
		slowest = max(slowest, time.Since(began))
		if err == nil && audit.LargestSecond > said {
			// Calls that wait for a processor come together.
			said = audit.LargestSecond
			f.T.Logf("%d calls in a second; the game has answered within %s", said, slowest.Round(time.Millisecond))
			slowest = 0
		}
	}
}

// stop lets those who ask end with the answers that they wait for.
func (f *feeder) stop() {
	f.cancel()
	f.work.Wait()
}

func (f *feeder) run(ctx context.Context, random *rand.Rand, p domain.Priority) {
	pace := time.NewTicker(feedEvery)
	defer pace.Stop()
	for {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
		keys := make([]string, feedBatch)
		for i := range keys {
			keys[i] = f.keys[random.IntN(len(f.keys))]
		}
		for _, key := range keys[:feedChanges] {
			f.change(ctx, key)
		}
		// Those who ask are not cut off: what they were promised would not be
		// known.
		if _, err := f.ask(context.WithoutCancel(ctx), p, keys); err != nil {
			select {
			case <-time.After(feedPause):
			case <-ctx.Done():
			}
		}
	}
}

// change gives a key another value at the game.
func (f *feeder) change(ctx context.Context, key string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.game.URL+"/_sim/change?key="+key, nil)
	if err != nil {
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	_ = response.Body.Close()
	if response.StatusCode == http.StatusNoContent {
		f.changed.Add(1)
	}
}

// changeAll gives every key another value, and fails if one cannot have it.
func (f *feeder) changeAll(ctx context.Context) {
	f.T.Helper()
	before := f.changed.Load()
	var work sync.WaitGroup
	for part := range slices.Chunk(f.keys, len(f.keys)/feedCallers+1) {
		work.Go(func() {
			for _, key := range part {
				f.change(ctx, key)
			}
		})
	}
	work.Wait()
	if changed := f.changed.Load() - before; changed != int64(len(f.keys)) {
		f.T.Fatalf("%d of %d values were changed", changed, len(f.keys))
	}
}

// askAll asks for every key until each request is one of its own: locks of
// those who were killed have to end first.
func (f *feeder) askAll(ctx context.Context) {
	f.T.Helper()
	again := time.NewTicker(feedEvery)
	defer again.Stop()
	for left := f.keys; ; {
		var later []string
		for part := range slices.Chunk(left, feedMost) {
			others, err := f.ask(ctx, domain.PriorityHigh, part)
			if err != nil {
				others = part
			}
			later = append(later, others...)
		}
		if left = later; len(left) == 0 {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			f.T.Fatalf("%d keys cannot be asked for, %s among them\n%s", len(left), left[0], f.LastWords())
		}
	}
}

// ask asks for keys and returns those that are under way because of somebody
// else.
func (f *feeder) ask(ctx context.Context, p domain.Priority, keys []string) (others []string, err error) {
	limited, cancel := context.WithTimeout(ctx, feedPatience)
	defer cancel()
	f.asked.Add(int64(len(keys)))
	now := time.Now()
	answer, err := f.API.Refresh(limited, wire.RefreshRequest{Source: "maplestory", Keys: keys, Priority: p.String()})
	if err != nil {
		f.refused.Add(int64(len(keys)))
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range answer.Results {
		if r.Result == refresh.AlreadyProcessing.String() {
			f.coalesced.Add(1)
			others = append(others, r.Key)
			continue
		}
		f.accepted.Add(1)
		if r.Version > f.promised[r.Key].version {
			f.promised[r.Key] = promise{r.Version, now}
		}
	}
	return others, nil
}
