package webhook_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/webhook"
)

func TestPlacesOfAHost(t *testing.T) {
	s := sender(t, webhook.Options{MaxPerHost: 2})
	first, ok := s.TryAcquire("https://a.example/one")
	if !ok {
		t.Fatal("the first is refused")
	}
	second, ok := s.TryAcquire("https://A.example.:443/two?x")
	if !ok {
		t.Fatal("the second is refused")
	}
	if _, ok := s.TryAcquire("https://a.example/three"); ok {
		t.Error("a third is let in")
	}
	for _, other := range []string{"https://b.example/", "http://a.example/", "https://a.example:444/", "no address"} {
		release, ok := s.TryAcquire(other)
		if !ok {
			t.Errorf("%s waits for another host", other)
			continue
		}
		release()
	}
	first()
	first() // once more gives no place that others have
	third, ok := s.TryAcquire("https://a.example/")
	if !ok {
		t.Fatal("a place that was given back is not given out")
	}
	if _, ok := s.TryAcquire("https://a.example/"); ok {
		t.Error("giving a place back twice made two of it")
	}
	second()
	third()
}

func TestPlacesUnderContention(t *testing.T) {
	const most, senders, rounds = 3, 16, 200
	s := sender(t, webhook.Options{MaxPerHost: most})
	var inside, worst, entered atomic.Int64
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for range rounds {
				release, ok := s.TryAcquire("https://a.example/")
				if !ok {
					continue
				}
				n := inside.Add(1)
				for seen := worst.Load(); n > seen && !worst.CompareAndSwap(seen, n); seen = worst.Load() {
				}
				entered.Add(1)
				inside.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	if worst.Load() > most || entered.Load() == 0 {
		t.Errorf("%d were let in, %d at once; at most %d may be", entered.Load(), worst.Load(), most)
	}
	for i := range most {
		if _, ok := s.TryAcquire("https://a.example/"); !ok {
			t.Errorf("place %d was lost", i)
		}
	}
}

func TestBackoff(t *testing.T) {
	var longest time.Duration
	for tries := -1; tries < 100; tries++ {
		d := time.Hour
		if tries <= 12 {
			d = time.Second << max(tries-1, 0)
		}
		different := map[time.Duration]bool{}
		for range 100 {
			got := webhook.Backoff(tries)
			if got < d/2 || got > d {
				t.Fatalf("after %d tries: %v, want at least %v and at most %v", tries, got, d/2, d)
			}
			different[got] = true
		}
		if len(different) < 2 {
			t.Errorf("after %d tries it is always the same", tries)
		}
		if tries >= 1 && tries < webhook.MaxTries {
			longest += d
		}
	}
	if want := 2*time.Hour + 8*time.Minute + 15*time.Second; longest != want {
		t.Errorf("it is given up after at most %v; the comment says %v", longest, want)
	}
}
