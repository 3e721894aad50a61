package due_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/due"
)

const longest = 10 * time.Second

// diary notes when something looked, and finds something at an instant.
type diary struct {
	began, ready time.Time
	looks        []time.Duration
}

func newDiary(ready time.Duration) *diary {
	return &diary{began: time.Now(), ready: time.Now().Add(ready)}
}

func (d *diary) look() (bool, time.Duration, error) {
	d.looks = append(d.looks, time.Since(d.began))
	return !time.Now().Before(d.ready), time.Until(d.ready), nil
}

func (d *diary) expect(t *testing.T, looks ...time.Duration) {
	t.Helper()
	if !slices.Equal(d.looks, looks) {
		t.Fatalf("looked at %v, want %v", d.looks, looks)
	}
}

func wait(t *testing.T, w *due.Waiter, look due.Look) {
	t.Helper()
	if err := w.Wait(t.Context(), look); err != nil {
		t.Fatal(err)
	}
}

func TestWaitLooksOnceForWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(0)
		wait(t, due.NewWaiter(longest), d.look)
		d.expect(t, 0)
	})
}

func TestWaitSleepsUntilTheInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(3 * time.Second)
		wait(t, due.NewWaiter(longest), d.look)
		d.expect(t, 0, 3*time.Second)
	})
}

func TestWaitEndsWithALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(time.Hour)
		wait(t, due.NewWaiter(longest), d.look)
		d.expect(t, 0, longest)
	})
}

// A wake-up is a reason to look, not something that was found.
func TestWaitIsWokenForAnEarlierInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := due.NewWaiter(longest), newDiary(8*time.Second)
		time.AfterFunc(2*time.Second, func() {
			synctest.Wait()
			d.ready = d.began.Add(5 * time.Second)
			w.Wake()
		})
		wait(t, w, d.look)
		d.expect(t, 0, 2*time.Second, 5*time.Second)
	})
}

// What woke nobody is seen by the next look, which comes anyway.
func TestWakeWithoutAWaitCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := due.NewWaiter(longest), newDiary(time.Second)
		w.Wake()
		wait(t, w, d.look)
		d.expect(t, 0, time.Second)
	})
}

func TestWaitersTakeTurnsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 5
		w, stock := due.NewWaiter(longest), 0
		var served []int
		for call := range calls {
			go func() {
				_ = w.Wait(t.Context(), func() (bool, time.Duration, error) {
					if stock == 0 {
						return false, longest, nil
					}
					stock--
					served = append(served, call)
					return true, 0, nil
				})
			}()
			synctest.Wait()
		}
		stock = calls - 1
		w.Wake()
		synctest.Wait()
		if !slices.Equal(served, []int{0, 1, 2, 3}) {
			t.Fatalf("served were %v", served)
		}
		time.Sleep(longest)
		synctest.Wait()
		if len(served) != calls-1 || stock != 0 {
			t.Fatalf("served were %v with %d left", served, stock)
		}
	})
}

// A call that ends, or fails, leaves its turn to others.
func TestWaitThatEndsKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, broken := due.NewWaiter(longest), errors.New("broken")
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 2)
		for range 2 {
			go func() {
				results <- w.Wait(ctx, func() (bool, time.Duration, error) { return false, longest, nil })
			}()
		}
		synctest.Wait()
		cancel()
		for range 2 {
			if err := <-results; !errors.Is(err, context.Canceled) {
				t.Errorf("a wait ended with %v", err)
			}
		}
		if err := w.Wait(t.Context(), func() (bool, time.Duration, error) { return false, 0, broken }); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		if err := w.Wait(ctx, func() (bool, time.Duration, error) { return true, 0, nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("a call whose context has ended got %v", err)
		}
		d := newDiary(0)
		wait(t, w, d.look)
		d.expect(t, 0)
	})
}
