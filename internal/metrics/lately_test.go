package metrics

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestQuickReadsAreFresh: what is read quickly is read each time.
func TestQuickReadsAreFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		l := newLately(time.Now, func(context.Context) (int, error) { reads++; return reads, nil })
		for want := 1; want < 4; want++ {
			if f := l.get(t.Context()); f.value != want || f.age != 0 || f.err != nil {
				t.Errorf("read %d is %+v", want, f)
			}
		}
	})
}

// TestSlowReadsAreShared: what takes long is read seldom, by one at a time, and
// nobody waits for it but who has nothing or something too old.
func TestSlowReadsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 100 * time.Millisecond
		var reads atomic.Int64
		var broken atomic.Bool
		l := newLately(time.Now, func(context.Context) (int64, error) {
			n := reads.Add(1)
			time.Sleep(takes)
			if broken.Load() {
				return 0, errors.New("broken")
			}
			return n, nil
		})
		timed := func() (figure[int64], time.Duration) {
			began := time.Now()
			f := l.get(t.Context())
			return f, time.Since(began)
		}
		want := func(what string, value int64, age, took time.Duration) {
			t.Helper()
			if f, waited := timed(); f.value != value || f.age != age || waited != took || f.err != nil {
				t.Errorf("%s: %+v after %v, want %d of age %v after %v", what, f, waited, value, age, took)
			}
		}
		want("the first waits", 1, 0, takes)
		want("the next gets the same", 1, 0, 0)
		time.Sleep(readShare*takes + time.Second)
		want("it is renewed for those who come later", 1, readShare*takes+time.Second, 0)
		want("by one at a time", 1, readShare*takes+time.Second, 0)
		time.Sleep(takes + time.Second)
		synctest.Wait()
		want("who get it", 2, time.Second, 0)
		time.Sleep(longestAge)
		want("what is too old is waited for", 3, 0, takes)
		broken.Store(true)
		time.Sleep(readShare*takes + time.Second)
		timed()
		time.Sleep(takes)
		synctest.Wait()
		broken.Store(false)
		if f, _ := timed(); f.err == nil {
			t.Errorf("a failure is kept from who asks: %+v", f)
		}
		time.Sleep(takes)
		synctest.Wait()
		want("what failed is tried again at once", 5, 0, 0)
	})
}

// TestWhoWaitsToReadGivesUp: with its own context, whoever reads meanwhile.
func TestWhoWaitsToReadGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLately(time.Now, func(context.Context) (int, error) { time.Sleep(time.Hour); return 1, nil })
		first := make(chan figure[int])
		go func() { first <- l.get(t.Context()) }()
		synctest.Wait()
		began := time.Now()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if f := l.get(impatient); !errors.Is(f.err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("got %+v after %s", f, time.Since(began))
		}
		if f := <-first; f.value != 1 || f.err != nil {
			t.Errorf("who read got %+v", f)
		}
	})
}
