package refreshtest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// CacheFactory opens the same cache as another process would. Nothing else uses it.
type CacheFactory func(t *testing.T) refresh.Cache

// RunCache checks each promise of the port. A cache is there to be quick and may leave
// a read to the store when it is not: what is kept is asked for until it is.
// Shared says that processes share what they keep.
func RunCache(t *testing.T, shared bool, newFactory func(t *testing.T) CacheFactory) {
	cases := map[string]func(*cacheFixture){
		"ReturnsWhatIsLoaded":         returnsWhatIsLoaded,
		"KeepsWhatWasLoaded":          keepsWhatWasLoaded,
		"AnErrorIsNotKept":            errorIsNotKept,
		"CallersShareALoad":           callersShareALoad,
		"OneCallersEndIsNotTheOthers": oneCallersEnd,
		"ForgottenIsLoadedAgain":      forgottenIsLoadedAgain,
		"LoadThatBeganBefore":         loadThatBeganBefore,
		"NeverOlderThanWhatIsStored":  neverOlder,
	}
	if shared {
		cases["ForgottenInEveryProcess"] = forgottenInEveryProcess
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := newFactory(t)
			check(&cacheFixture{T: t, Cache: open(t), open: open})
		})
	}
}

// longest ends what hangs.
const longest = 2 * time.Minute

type cacheFixture struct {
	*testing.T
	refresh.Cache
	open CacheFactory
}

// truth is a store with one value, which counts how often it is asked.
type truth struct {
	version atomic.Int64
	asked   atomic.Int64
}

// instant is when the upstream was asked for a version.
func instant(version int64) time.Time { return time.UnixMicro(1_700_000_000_000_000 + version).UTC() }

var (
	one   = refresh.Entity{Source: "game", Key: "one"}
	other = refresh.Entity{Source: "game", Key: "the 'other'"}
)

func of(e refresh.Entity, version int64) refresh.Cached {
	return refresh.Cached{Found: true, Snapshot: refresh.Snapshot{
		Entity: e, Version: version, Body: []byte(`{"a":"é"}`), CheckedAt: instant(version), UpdatedAt: instant(version),
	}}
}

func (s *truth) load(context.Context) (refresh.Cached, error) {
	s.asked.Add(1)
	return of(one, s.version.Load()), nil
}

// change stores a newer value and tells a cache.
func (s *truth) change(ctx context.Context, c refresh.Cache) int64 {
	version := s.version.Add(1)
	c.Forget(ctx, refresh.Change{Entity: one, CheckedAt: instant(version)})
	return version
}

func (x *cacheFixture) get(c refresh.Cache, e refresh.Entity, load func(context.Context) (refresh.Cached, error)) refresh.Cached {
	x.Helper()
	value, err := c.Get(x.Context(), e, load)
	if err != nil {
		x.Fatal(err)
	}
	return value
}

// until asks again and again for what a cache need not do at once.
func (x *cacheFixture) until(what string, holds func() bool) {
	x.Helper()
	ended := time.NewTimer(longest)
	defer ended.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-ended.C:
			x.Fatalf("never: %s", what)
		}
	}
}

func returnsWhatIsLoaded(x *cacheFixture) {
	full := of(one, 7)
	full.Status = &refresh.Status{Entity: one, Code: refresh.StatusRetrying}
	for _, want := range []refresh.Cached{full, {}} {
		e := one
		if !want.Found {
			e = other
		}
		for range 20 {
			got := x.get(x.Cache, e, func(context.Context) (refresh.Cached, error) { return want, nil })
			same := got.Found == want.Found && got.Entity == want.Entity && got.Version == want.Version && bytes.Equal(got.Body, want.Body) &&
				got.CheckedAt.Equal(want.CheckedAt) && got.UpdatedAt.Equal(want.UpdatedAt) && (got.Status == nil) == (want.Status == nil)
			if !same || want.Status != nil && got.Status.Code != want.Status.Code {
				x.Fatalf("got %+v, want %+v", got, want)
			}
		}
	}
}

func keepsWhatWasLoaded(x *cacheFixture) {
	var s truth
	x.until("a read is answered without the store", func() bool {
		before := s.asked.Load()
		x.get(x.Cache, one, s.load)
		return s.asked.Load() == before
	})
	if s.asked.Load() == 0 {
		x.Error("the store was never asked")
	}
}

func errorIsNotKept(x *cacheFixture) {
	broken := errors.New("broken")
	for range 2 {
		if _, err := x.Get(x.Context(), one, func(context.Context) (refresh.Cached, error) { return refresh.Cached{}, broken }); !errors.Is(err, broken) {
			x.Fatalf("got %v", err)
		}
	}
	s := &truth{}
	s.version.Store(3)
	if got := x.get(x.Cache, one, s.load); got.Version != 3 {
		x.Errorf("got %+v", got)
	}
}

// held is a load that waits.
type held struct {
	truth
	begun, release chan struct{}
	once           sync.Once
}

func newHeld() *held { return &held{begun: make(chan struct{}), release: make(chan struct{})} }

func (h *held) load(ctx context.Context) (refresh.Cached, error) {
	value, err := h.truth.load(ctx)
	h.once.Do(func() { close(h.begun) })
	<-h.release
	return value, err
}

func callersShareALoad(x *cacheFixture) {
	const callers = 16
	h := newHeld()
	var all sync.WaitGroup
	call := func() {
		if got, err := x.Get(x.Context(), one, h.load); err != nil || !got.Found {
			x.Errorf("got %+v, %v", got, err)
		}
	}
	all.Go(call)
	<-h.begun
	var entered sync.WaitGroup
	entered.Add(callers)
	for range callers {
		all.Go(func() { entered.Done(); call() })
	}
	entered.Wait()
	close(h.release)
	all.Wait()
	if n := h.asked.Load(); n > callers/2 {
		x.Errorf("%d loads for %d callers", n, callers+1)
	}
}

func oneCallersEnd(x *cacheFixture) {
	h := newHeld()
	ending, end := context.WithCancel(x.Context())
	var first, second error
	var all sync.WaitGroup
	gone := make(chan struct{})
	all.Go(func() { defer close(gone); _, first = x.Get(ending, one, h.load) })
	<-h.begun
	all.Go(func() { _, second = x.Get(x.Context(), one, h.load) })
	end()
	<-gone // although the load is not over
	close(h.release)
	all.Wait()
	if !errors.Is(first, context.Canceled) || second != nil {
		x.Errorf("the one that ended got %v, the other %v", first, second)
	}
}

func forgottenIsLoadedAgain(x *cacheFixture) {
	var s, untouched truth
	kept := func() bool {
		before := untouched.asked.Load()
		x.get(x.Cache, other, untouched.load)
		return untouched.asked.Load() == before
	}
	x.until("the other is kept", kept)
	for range 20 {
		x.get(x.Cache, one, s.load)
		version := s.change(x.Context(), x.Cache)
		if got := x.get(x.Cache, one, s.load); got.Version != version {
			x.Fatalf("version %d is stored, %d is shown", version, got.Version)
		}
	}
	x.until("the other is still kept", kept)
	x.Forget(x.Context())
}

func forgottenInEveryProcess(x *cacheFixture) {
	there := x.open(x.T)
	var s truth
	for range 5 {
		x.until("both have it", func() bool {
			before := s.asked.Load()
			x.get(x.Cache, one, s.load)
			x.get(there, one, s.load)
			return s.asked.Load() == before
		})
		version := s.change(x.Context(), x.Cache)
		x.until("the other process shows what is stored", func() bool { return x.get(there, one, s.load).Version == version })
	}
}

// loadThatBeganBefore: what was read before something newer was stored is not
// kept after that.
func loadThatBeganBefore(x *cacheFixture) {
	for range 10 {
		h := newHeld()
		var all sync.WaitGroup
		all.Go(func() { _, _ = x.Get(x.Context(), one, h.load) })
		<-h.begun
		version := h.change(x.Context(), x.Cache)
		close(h.release)
		all.Wait()
		if got := x.get(x.Cache, one, h.truth.load); got.Version != version {
			x.Fatalf("version %d is stored, %d is shown", version, got.Version)
		}
		x.Forget(x.Context(), refresh.Change{Entity: one})
		x.until("it begins anew", func() bool {
			before := h.asked.Load()
			x.get(x.Cache, one, h.truth.load)
			return h.asked.Load() != before
		})
		x.Cache = x.open(x.T)
	}
}

// neverOlder: whoever stores something and says so sees nothing older after it,
// whatever others do at the same time.
func neverOlder(x *cacheFixture) {
	seed := testkit.Seed(x.T)
	var s truth
	var all sync.WaitGroup
	for who := range uint64(4) {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(seed, who))
			for range 200 {
				stored := int64(0)
				if dice.IntN(4) == 0 {
					stored = s.change(x.Context(), x.Cache)
				}
				got, err := x.Get(x.Context(), one, s.load)
				if err != nil || got.Version < stored || got.Version > s.version.Load() {
					x.Errorf("version %d is stored, got %+v, %v", stored, got, err)
					return
				}
			}
		})
	}
	all.Wait()
}
