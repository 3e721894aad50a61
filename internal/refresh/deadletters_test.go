package refresh_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// failing is an upstream that knows nobody, until it is healed.
type failing struct {
	*script
	healed atomic.Bool
}

func newFailing() *failing {
	f := &failing{}
	f.script = scripted(func(_ context.Context, key string, _ int) refresh.Fetched {
		if f.healed.Load() {
			return is(`"v"`)
		}
		code := "EVEN"
		if key[len(key)-1]%2 == 1 {
			code = "ODD"
		}
		return refresh.Fetched{Verdict: refresh.FetchDead, Code: code, Error: "no such thing", HTTPStatus: 404}
	})
	return f
}

// withDeadLetters is a stand with so many dead letters.
func withDeadLetters(t *testing.T, n int) (*stand, *failing) {
	t.Helper()
	up := newFailing()
	s := newStand(t, up)
	s.start()
	_, err := s.ask(high, names(n)...)
	s.check(err)
	s.until("all are dead letters", func() bool { return s.Worker().Counters().Dead.Load() == int64(n) && len(s.letters()) == n })
	s.pass(time.Minute)
	up.healed.Store(true)
	return s, up
}

func TestRedrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := withDeadLetters(t, 6)
		s.wantCounts(map[string]int64{"EVEN": 3, "ODD": 3})
		letters := s.letters()
		if _, err := s.Redrive(t.Context(), letters[0].ID, "no such letter"); domain.CodeOf(err) != domain.CodeNotFound || len(s.letters()) != 6 {
			t.Errorf("got %v; %d are left", err, len(s.letters()))
		}
		n, err := s.Redrive(t.Context(), letters[0].ID, letters[1].ID, letters[1].ID)
		if err != nil || n != 2 {
			t.Errorf("%d, %v", n, err)
		}
		s.until("both are stored", s.stored(letters[0].Key, letters[1].Key))
		if _, _, status := s.snapshot(letters[0].Key); status != nil {
			t.Errorf("its status is %+v", status)
		}
		if _, err := s.DeadLetter(t.Context(), letters[0].ID); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("got %v", err)
		}
		left := s.letters()
		n, err = s.Discard(t.Context(), left[0].ID, "no such letter")
		if err != nil || n != 1 || len(s.letters()) != 3 {
			t.Errorf("%d, %v", n, err)
		}
		total := 0
		for _, why := range []string{"EVEN", "ODD", "NEITHER"} {
			n, err := s.RedriveWhy(t.Context(), why)
			s.check(err)
			total += n
		}
		if total != 3 || len(s.letters()) != 0 {
			t.Errorf("%d were asked for, %d are left", total, len(s.letters()))
		}
	})
}

// TestRedriveOfMany takes several pages, of letters that fail again.
func TestRedriveOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, up := withDeadLetters(t, 500)
		up.healed.Store(false)
		n, err := s.RedriveWhy(t.Context(), "ODD")
		if err != nil || n != 250 {
			t.Fatalf("%d, %v", n, err)
		}
		s.until("they are dead letters again", func() bool { return s.Worker().Counters().Dead.Load() == 750 })
		s.wantCounts(map[string]int64{"EVEN": 250, "ODD": 250})
	})
}

// TestRedriveThatIsInterrupted loses nothing: whatever it failed in, every
// letter is there or its request is.
func TestRedriveThatIsInterrupted(t *testing.T) {
	for _, operation := range []string{"Release", "Acquire", "Publish", "RemoveDeadLetters"} {
		t.Run(operation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, up := withDeadLetters(t, 300)
				calls := 0
				s.breaks(func(context.Context) error { // the second page fails
					if calls++; calls > 1 {
						return errDown
					}
					return nil
				}, operation)
				_ = s.Stop(s.Context()) // nothing else uses these
				_, err := s.RedriveWhy(t.Context(), "EVEN")
				if domain.CodeOf(err) != domain.CodeUnavailable {
					t.Fatalf("got %v", err)
				}
				s.breaks(nil, operation)
				waiting := map[string]bool{}
				for _, l := range s.letters() {
					waiting[l.Key] = true
				}
				s.start()
				s.until("every other is stored", func() bool {
					for _, key := range names(300) {
						if _, found, _ := s.snapshot(key); !found && !waiting[key] {
							return false
						}
					}
					return true
				})
				if up.all() < 300 || len(waiting) >= 300 {
					t.Errorf("%d calls; %d letters are left", up.all(), len(waiting))
				}
			})
		})
	}
}

// TestRedriveAtOnce: the lock of the request that failed does not pass for one
// that is under way.
func TestRedriveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := newFailing()
		s := newStand(t, up)
		s.breaks(hang(10*time.Second), "SetStatus") // the lock is held all the while
		s.start()
		s.want(refresh.Published, high, "key")
		s.until("it is a dead letter", func() bool { return len(s.letters()) == 1 })
		up.healed.Store(true)
		if n, err := s.Redrive(t.Context(), s.letters()[0].ID); err != nil || n != 1 {
			t.Fatalf("%d, %v", n, err)
		}
		s.until("it is stored", s.stored("key"))
	})
}

func TestDeadLettersAgeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := withDeadLetters(t, 10)
		s.pass(refresh.DeadLetterLife - time.Hour)
		if n := len(s.letters()); n != 10 {
			t.Errorf("%d are left after almost a week", n)
		}
		s.pass(8 * time.Hour)
		if n := len(s.letters()); n != 0 {
			t.Errorf("%d are left after a week", n)
		}
	})
}

func TestDeadLetterPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := withDeadLetters(t, 25)
		seen := map[string]bool{}
		q := refresh.DeadLetterQuery{Source: game, Limit: 10}
		for pages := 0; ; pages++ {
			letters, err := s.DeadLetterList(t.Context(), q)
			s.check(err)
			if len(letters) == 0 {
				break
			}
			for _, l := range letters {
				seen[l.Key] = true
				q.Before, q.BeforeID = l.FailedAt, l.ID
			}
			if pages > 3 {
				t.Fatal("it does not end")
			}
		}
		if len(seen) != 25 {
			t.Errorf("%d were listed", len(seen))
		}
		one, err := s.DeadLetterList(t.Context(), refresh.DeadLetterQuery{Key: "key-7"})
		if err != nil || len(one) != 1 || one[0].Why != "ODD" {
			t.Errorf("got %s, %v", fmt.Sprint(one), err)
		}
	})
}
