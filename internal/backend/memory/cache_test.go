package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/refresh"
	"sluice/internal/refresh/refreshtest"
)

func entity(i int) refresh.Entity { return refresh.Entity{Source: "game", Key: fmt.Sprint(i)} }

func value(body string) refresh.Cached {
	return refresh.Cached{Found: true, Snapshot: refresh.Snapshot{Body: []byte(body)}}
}

// store counts what is loaded.
type store struct {
	loads  atomic.Int64
	answer func() (refresh.Cached, error)
}

func (s *store) load(context.Context) (refresh.Cached, error) {
	s.loads.Add(1)
	return s.answer()
}

func has(body string) *store {
	return &store{answer: func() (refresh.Cached, error) { return value(body), nil }}
}

func get(t *testing.T, c *memory.Cache, i int, s *store) string {
	t.Helper()
	v, err := c.Get(t.Context(), entity(i), s.load)
	if err != nil {
		t.Fatal(err)
	}
	return string(v.Body)
}

func TestCacheKeepsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := memory.NewCache(memory.CacheOptions{Keep: time.Minute}), has("v")
		for range 10 {
			if got := get(t, c, 1, s); got != "v" || s.loads.Load() != 1 {
				t.Fatalf("%q after %d loads", got, s.loads.Load())
			}
		}
		time.Sleep(time.Minute)
		if get(t, c, 1, s); s.loads.Load() != 2 {
			t.Errorf("%d loads after a minute", s.loads.Load())
		}
		c.Forget(t.Context(), refresh.Change{Entity: entity(1)}, refresh.Change{Entity: entity(2)})
		if get(t, c, 1, s); s.loads.Load() != 3 {
			t.Errorf("%d loads after it was forgotten", s.loads.Load())
		}
	})
}

// TestCacheIsBounded: what was not read for longest goes.
func TestCacheIsBounded(t *testing.T) {
	const size, body = 1 << 20, 10_000
	c, s := memory.NewCache(memory.CacheOptions{Bytes: size}), has(strings.Repeat("v", body))
	favourite := 0
	for i := range 1000 {
		get(t, c, i, s)
		get(t, c, favourite, s)
	}
	if s.loads.Load() != 1000 {
		t.Errorf("%d loads: what is read all the time was forgotten", s.loads.Load())
	}
	before := s.loads.Load()
	for i := range 1000 {
		get(t, c, 999-i, s)
	}
	kept := 1000 - (s.loads.Load() - before)
	if kept < 50 || kept > size/body {
		t.Errorf("%d of 1,000 were kept, of %d bytes each in %d", kept, body, size)
	}
}

// TestCacheTooLargeToKeep is loaded every time, and pushes nothing out.
func TestCacheTooLargeToKeep(t *testing.T) {
	c := memory.NewCache(memory.CacheOptions{Bytes: 1 << 20})
	small, large := has("v"), has(strings.Repeat("v", 1<<20))
	get(t, c, 1, small)
	for i := range 3 {
		get(t, c, 100+i%2, large)
	}
	if get(t, c, 1, small); small.loads.Load() != 1 || large.loads.Load() != 3 {
		t.Errorf("%d and %d loads", small.loads.Load(), large.loads.Load())
	}
}

func TestCacheSharesOneLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		s := &store{answer: func() (refresh.Cached, error) {
			<-answer
			return value("v"), nil
		}}
		c := memory.NewCache(memory.CacheOptions{})
		impatient, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { // the first one's end is not the others'
			if _, err := c.Get(impatient, entity(1), s.load); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		for range 100 {
			all.Go(func() {
				if got := get(t, c, 1, s); got != "v" {
					t.Errorf("got %q", got)
				}
			})
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(answer)
		all.Wait()
		if s.loads.Load() != 1 {
			t.Errorf("%d loads", s.loads.Load())
		}
	})
}

// TestCacheLoadThatBeganBefore is not kept after its entity was forgotten, and is not
// joined by those who come later.
func TestCacheLoadThatBeganBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		old := &store{answer: func() (refresh.Cached, error) {
			<-answer
			return value("old"), nil
		}}
		c := memory.NewCache(memory.CacheOptions{})
		early := make(chan string, 1)
		go func() { early <- get(t, c, 1, old) }()
		synctest.Wait()
		c.Forget(t.Context(), refresh.Change{Entity: entity(1)})
		if got := get(t, c, 1, has("new")); got != "new" {
			t.Errorf("who came later got %q", got)
		}
		close(answer)
		if got := <-early; got != "old" {
			t.Errorf("who came before got %q", got)
		}
		synctest.Wait()
		if got := get(t, c, 1, has("unused")); got != "new" {
			t.Errorf("kept is %q", got)
		}
	})
}

// TestCacheOlderValues are better than none while the store is slow or down.
func TestCacheOlderValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memory.NewCache(memory.CacheOptions{Keep: time.Minute, Patience: 100 * time.Millisecond})
		get(t, c, 1, has("old"))
		time.Sleep(time.Hour)
		slow := &store{answer: func() (refresh.Cached, error) {
			time.Sleep(10 * time.Second)
			return value("new"), nil
		}}
		began := time.Now()
		if got := get(t, c, 1, slow); got != "old" || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%q after %s", got, time.Since(began))
		}
		time.Sleep(10 * time.Second)
		if got := get(t, c, 1, slow); got != "new" || slow.loads.Load() != 1 {
			t.Errorf("%q after %d loads", got, slow.loads.Load())
		}
		time.Sleep(time.Hour)
		broken := &store{answer: func() (refresh.Cached, error) { return refresh.Cached{}, errors.New("down") }}
		if got := get(t, c, 1, broken); got != "new" {
			t.Errorf("got %q", got)
		}
		if _, err := c.Get(t.Context(), entity(2), broken.load); err == nil {
			t.Error("what was never known is known")
		}
		c.Forget(t.Context(), refresh.Change{Entity: entity(1)})
		if _, err := c.Get(t.Context(), entity(1), broken.load); err == nil {
			t.Error("what was forgotten is known")
		}
	})
}

func TestCacheConformance(t *testing.T) {
	t.Parallel()
	refreshtest.RunCache(t, false, func(*testing.T) refreshtest.CacheFactory {
		return func(*testing.T) refresh.Cache { return memory.NewCache(memory.CacheOptions{}) }
	})
}
