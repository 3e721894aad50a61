package refresh_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/source"
)

// chained is an upstream whose records of the kind "part" need the number that "id"
// tells of a name. Numbers change when they are told to.
type chained struct {
	mu      sync.Mutex
	numbers map[string]int
	calls   []string
	// fails is what calls of a kind end with instead.
	fails map[string]refresh.Fetched
	took  time.Duration
}

func (c *chained) CheckKey(key string) (string, error) { return key, nil }

func (c *chained) Pace(key string) source.Pace {
	if strings.HasPrefix(key, "id:") {
		return source.Pace{FreshFor: 10 * time.Hour, Hot: 10 * time.Hour, Warm: 10 * time.Hour, Cold: 48 * time.Hour}
	}
	return source.Pace{FreshFor: 10 * time.Minute}
}

func (c *chained) Needs(key string) []source.Need {
	if _, name, part := strings.Cut(key, "part:"); part {
		return []source.Need{{Key: "id:" + name, Within: 10 * time.Hour}}
	}
	return nil
}

func (c *chained) Fetch(ctx context.Context, key string, sent func()) refresh.Fetched {
	return c.FetchKnowing(ctx, key, nil, sent)
}

func (c *chained) FetchKnowing(_ context.Context, key string, known map[string][]byte, sent func()) refresh.Fetched {
	sent()
	time.Sleep(c.took)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, key)
	kind, name, _ := strings.Cut(key, ":")
	if f, fails := c.fails[kind]; fails {
		return f
	}
	number := fmt.Sprint(c.numbers[name])
	if kind == "id" {
		return value(number)
	}
	if said := string(known["id:"+name]); said != number {
		return refresh.Fetched{Verdict: refresh.FetchRetry, Renew: true, Code: "GONE", Error: "nobody has the number " + said}
	}
	return value(`"` + name + `"`)
}

func value(text string) refresh.Fetched {
	return refresh.Fetched{Verdict: refresh.FetchDone, Body: []byte(text), Hash: sha256.Sum256([]byte(text)), Received: len(text)}
}

func (c *chained) made(kind string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		if strings.HasPrefix(call, kind) {
			n++
		}
	}
	return n
}

func (c *chained) renumber(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbers[name]++
}

func TestWhatACallNeedsIsAskedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &chained{numbers: map[string]int{"ann": 1}}
		s := newStand(t, up)
		s.start()
		ask := func(key string) {
			t.Helper()
			_, err := s.ask(high, key)
			s.check(err)
			s.until(key+" is stored", s.stored(key))
			synctest.Wait()
		}
		ask("part:ann")
		if up.made("id:") != 1 || up.made("part:") != 1 {
			t.Fatalf("calls: %v", up.calls)
		}
		if got, found, _ := s.snapshot("id:ann"); !found || string(got.Body) != "1" {
			t.Errorf("what was needed is not stored as its own: %s", got.Body)
		}
		usage, err := s.parts.Rate.Usage(t.Context(), game)
		if err != nil || usage.Used != 2 {
			t.Errorf("%d calls are counted, %v", usage.Used, err)
		}
		// It is fresh for ten hours.
		s.pass(9 * time.Hour)
		ask("part:ann")
		if up.made("id:") != 1 || up.made("part:") != 2 {
			t.Errorf("calls: %v", up.calls)
		}
		s.pass(2 * time.Hour)
		ask("part:ann")
		s.until("it was asked for anew", func() bool { return up.made("id:") == 2 && up.made("part:") == 3 })
		// Another number: what is known is no longer so.
		up.renumber("ann")
		s.pass(time.Hour)
		_, err = s.ask(low, "part:ann")
		s.check(err)
		s.until("it was renewed", func() bool {
			got, _, _ := s.snapshot("id:ann")
			return string(got.Body) == "2" && up.made("part:") == 5
		})
		if letters := s.letters(); len(letters) != 0 {
			t.Errorf("dead letters: %+v", letters)
		}
	})
}

// TestManyRenewals: that what was known is no longer so says nothing against the upstream.
func TestManyRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &chained{numbers: map[string]int{}}
		s := newStand(t, up)
		s.start()
		keys := make([]string, 50)
		for i := range keys {
			up.numbers[fmt.Sprint(i)] = 1
			keys[i] = fmt.Sprintf("part:%d", i)
		}
		_, err := s.ask(high, keys...)
		s.check(err)
		s.until("all are stored", s.stored(keys...))
		for i := range keys {
			up.renumber(fmt.Sprint(i))
		}
		s.pass(time.Minute)
		_, err = s.ask(high, keys...)
		s.check(err)
		s.pass(5 * time.Second)
		// Each was asked for, refused, looked up anew and asked for once more.
		if up.made("id:") != 100 || up.made("part:") != 150 || len(s.letters()) != 0 {
			t.Errorf("%d and %d calls, %d letters, breakers %v", up.made("id:"), up.made("part:"), len(s.letters()), s.Breakers())
		}
	})
}

// TestCrowdNeedsOne: of many that need the same one asks, and every call is counted.
func TestCrowdNeedsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &chained{numbers: map[string]int{"ann": 1}, took: 300 * time.Millisecond}
		s := newStand(t, up)
		s.start()
		_, err := s.ask(high, "id:zoe")
		s.check(err)
		s.pass(time.Hour) // what is given back at the begin of a day may be of the day before
		keys := make([]string, 20)
		for i := range keys {
			keys[i] = fmt.Sprintf("x%d-part:ann", i)
		}
		_, err = s.ask(high, keys...)
		s.check(err)
		s.until("all are stored", s.stored(keys...))
		if up.made("id:ann") != 1 || len(up.calls) != 22 {
			t.Errorf("%d of %d calls are for the one", up.made("id:ann"), len(up.calls))
		}
		if usage, err := s.parts.Rate.Usage(t.Context(), game); err != nil || usage.Used != 22 {
			t.Errorf("%d calls are counted, %v", usage.Used, err)
		}
	})
}

// TestNeedThatFails ends as if the record's own call had ended so.
func TestNeedThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &chained{numbers: map[string]int{}, fails: map[string]refresh.Fetched{"id": {Verdict: refresh.FetchDead, Code: "NOBODY", Error: "there is nobody"}}}
		s := newStand(t, up)
		s.start()
		_, err := s.ask(high, "part:ann")
		s.check(err)
		s.until("it is given up", func() bool { return len(s.letters()) == 1 })
		if l := s.letters()[0]; l.Key != "part:ann" || l.Why != "NOBODY" || !strings.Contains(l.Error, "id:ann, which is needed first") {
			t.Errorf("%+v", l)
		}
		up.mu.Lock()
		up.fails = map[string]refresh.Fetched{"id": {Verdict: refresh.FetchWait, Wait: time.Minute, Code: "LATER"}}
		up.mu.Unlock()
		_, err = s.ask(high, "part:bob")
		s.check(err)
		s.pass(10 * time.Second)
		if _, _, status := s.snapshot("part:bob"); status == nil || status.Code != refresh.StatusRetrying || up.made("id:bob") != 1 {
			t.Errorf("%+v after %d calls", status, up.made("id:bob"))
		}
		up.mu.Lock()
		up.fails, up.numbers["bob"] = nil, 4
		up.mu.Unlock()
		s.until("it is stored", s.stored("part:bob"))
	})
}

// TestPaceOfRecords: each is as fresh, and as often due, as its source says.
func TestPaceOfRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &chained{numbers: map[string]int{"ann": 1}}
		s := newStand(t, up, func(s *stand) {
			s.settings.Prefetches, s.settings.PerSecond = true, func(int) int { return 10 }
			s.tiers = refresh.TierOptions{Of: (&refresh.Parts{Upstreams: map[string]refresh.Upstream{game: up}}).Pace()}
		})
		s.start()
		_, err := s.ask(high, "part:ann")
		s.check(err)
		s.until("both are stored", s.stored("part:ann", "id:ann"))
		s.pass(11 * time.Minute)
		for key, want := range map[string]refresh.Freshness{"part:ann": refresh.Stale, "id:ann": refresh.Fresh} {
			if a, err := s.Get(t.Context(), entity(key)); err != nil || a.Freshness != want {
				t.Errorf("%s is %s, want %s, %v", key, a.Freshness, want, err)
			}
		}
		s.pass(24*time.Hour + 30*time.Minute)
		before := up.made("id:")
		if up.made("part:") < 2 || before > 3 {
			t.Errorf("%d calls for parts, %d for ids", up.made("part:"), before)
		}
	})
}

// TestSourcesDoNotHoldEachOtherUp: the day of one is spent, or it fails, and the other
// is refreshed as ever.
func TestSourcesDoNotHoldEachOtherUp(t *testing.T) {
	const other = "other"
	spent := plenty
	spent.Daily, spent.DailyReserve = 3, 0
	for name, broken := range map[string]bool{"a day that is spent": false, "an outage": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := scripted(func(context.Context, string, int) refresh.Fetched {
					if broken {
						return refresh.Fetched{Verdict: refresh.FetchRetry, Code: "DOWN", Error: "down"}
					}
					return is(`"v"`)
				})
				well := always(`"w"`)
				s := newStand(t, up, func(s *stand) {
					if !broken {
						s.limits = spent
					}
					s.settings.HighInFlight = 10
					s.more, s.moreLimits = map[string]refresh.Upstream{other: well}, map[string]rate.Limits{other: plenty}
				})
				s.start()
				_, err := s.ask(high, names(100)...)
				s.check(err)
				s.pass(time.Minute)
				q := refresh.Request{Priority: domain.PriorityHigh, Reason: refresh.ReasonUserRequest, Entities: []refresh.Entity{{Source: other, Key: "k"}}}
				_, err = s.Request(t.Context(), q)
				s.check(err)
				s.pass(10 * time.Second)
				if well.all() != 1 {
					t.Errorf("%d calls for the other, %d for the first", well.all(), up.all())
				}
				if !broken && up.all() != 3 {
					t.Errorf("%d calls of a day of 3", up.all())
				}
			})
		})
	}
}

var _ refresh.Upstream = (*chained)(nil)
