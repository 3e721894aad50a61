package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/schedule"
	"sluice/internal/source"
	"sluice/internal/testkit"
)

// TestDeletedAccountIsSkipped: when its turn comes, and for ever after, until
// somebody signs it up again.
func TestDeletedAccountIsSkipped(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		f := newField(1, 1000)
		f.fails = func(c source.Call) *source.Result {
			if c.Run.Login == "busy" && c.Run.Trigger == domain.TriggerSchedule {
				pass(time.Minute)
			}
			return nil
		}
		s := started(t, f, harvesting(t, `{"spread":"0s","every":"6h"}`, 1000))
		idle, busy := s.signs("idle", "one"), s.signs("busy", "two")
		s.wait(idle.run)
		s.wait(busy.run)
		s.plans(idle.account)
		if err := s.svc.Engine.DeleteAccount(t.Context(), idle.account.ID); err != nil {
			t.Fatal(err)
		}
		if _, h, err := s.svc.Engine.Schedule(t.Context(), idle.account.ID); err != nil || !h.At.IsZero() {
			t.Errorf("a deleted account has planned %+v, %v", h, err)
		}
		if _, err := s.svc.Engine.SetSchedule(t.Context(), idle.account.ID, policy(t, `{"every":"1h"}`)); err != nil {
			t.Fatal(err)
		}
		// In the middle of the call of its harvest.
		pass(time.Until(s.next(busy.run).CreatedAt.Add(30 * time.Second)))
		if err := s.svc.Engine.DeleteAccount(t.Context(), busy.account.ID); err != nil {
			t.Fatal(err)
		}
		pass(24 * time.Hour)
		if runs := s.allRuns(idle.account); len(runs) != 1 {
			t.Errorf("the idle account had %d runs", len(runs))
		}
		if runs := s.allRuns(busy.account); len(runs) != 2 || runs[1].Status != domain.RunCanceled {
			t.Errorf("the busy account had %+v", runs)
		}
		for _, a := range []domain.Account{idle.account, busy.account} {
			if _, found, err := s.raw.Harvest(t.Context(), a.ID); err != nil || found {
				t.Errorf("%s still has a harvest, %v", a.Login, err)
			}
			if _, err := s.svc.Engine.ResumeRun(t.Context(), s.allRuns(a)[0].ID, domain.PriorityHigh); domain.CodeOf(err) != domain.CodeConflict {
				t.Errorf("a run of %s was resumed: %v", a.Login, err)
			}
		}
		wantSignupAgain(t, s, idle)
	})
}

// wantSignupAgain checks that an account comes back with its next runs.
func wantSignupAgain(t *testing.T, s *service, c collection) {
	t.Helper()
	again := s.signs(c.account.Login, "one")
	if again.account.ID != c.account.ID || again.run.Trigger != domain.TriggerSignup || again.run.Priority != domain.PriorityHigh {
		t.Fatalf("signed up again: %+v", again)
	}
	s.wantCompleted(s.wait(again.run), 0)
	// Its own policy was kept: every hour.
	following := s.next(again.run)
	wantAt(t, "the harvest", following.CreatedAt, again.run.CreatedAt.Add(time.Hour))
}

// TestPausedAccountWaits: its turn passes, and comes when it is resumed.
func TestPausedAccountWaits(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := started(t, newField(2, 1000), harvesting(t, `{"spread":"0s","every":"6h"}`, 1000))
		c := s.signs("octocat", "secret")
		s.wait(c.run)
		if err := s.svc.Engine.PauseAccount(t.Context(), c.account.ID, "on holiday"); err != nil {
			t.Fatal(err)
		}
		pass(20 * time.Hour)
		if n := len(s.allRuns(c.account)); n != 1 {
			t.Errorf("a paused account had %d runs", n)
		}
		resumed := time.Now()
		if err := s.svc.Engine.ResumeAccount(t.Context(), c.account.ID); err != nil {
			t.Fatal(err)
		}
		run := s.next(c.run)
		wantAt(t, "the harvest", run.CreatedAt, resumed)
		wantAt(t, "the one after", s.next(s.wait(run)).CreatedAt, run.CreatedAt.Add(6*time.Hour))

		// Resumed before its turn, it waits for that.
		run = s.wait(s.allRuns(c.account)[2])
		h := s.plans(c.account)
		if err := s.svc.Engine.PauseAccount(t.Context(), c.account.ID, "for a moment"); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		if err := s.svc.Engine.ResumeAccount(t.Context(), c.account.ID); err != nil {
			t.Fatal(err)
		}
		wantAt(t, "the harvest", s.next(run).CreatedAt, h.At)
	})
}

// TestCanceledRunIsFollowed by the next in its turn; it is not resumed.
func TestCanceledRunIsFollowed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		f := newField(5, 2) // the third call waits for the next window
		s := started(t, f, harvesting(t, `{"spread":"0s","every":"6h"}`, 2))
		c := s.signs("octocat", "secret")
		pass(time.Minute)
		if _, h, err := s.svc.Engine.Schedule(t.Context(), c.account.ID); err != nil || !h.At.IsZero() {
			t.Errorf("while a run is under way %+v is planned, %v", h, err)
		}
		if _, err := s.svc.Engine.CancelRun(t.Context(), c.run.ID, "not now"); err != nil {
			t.Fatal(err)
		}
		if h := s.plans(c.account); h.Resume != 0 || h.After != c.run.ID || h.Priority != domain.PriorityLow {
			t.Errorf("planned is %+v", h)
		}
		run := s.next(c.run)
		wantAt(t, "the harvest", run.CreatedAt, c.run.CreatedAt.Add(6*time.Hour))
		s.wantCompleted(s.wait(run), 0)
	})
}

// TestSetScheduleMovesTheHarvest earlier and later, and says why it is then.
func TestSetScheduleMovesTheHarvest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := started(t, newField(2, 1000), harvesting(t, `{"spread":"0s","every":"6h"}`, 1000))
		c := s.signs("octocat", "secret")
		run := s.wait(c.run)
		move := func(text, reason string, want time.Duration) {
			t.Helper()
			h, err := s.svc.Engine.SetSchedule(t.Context(), c.account.ID, policy(t, text))
			if err != nil {
				t.Fatal(err)
			}
			wantAt(t, "the plan", h.At, run.CreatedAt.Add(want))
			own, shown, err := s.svc.Engine.Schedule(t.Context(), c.account.ID)
			if err != nil || shown != h || !strings.Contains(shown.Reason, reason) {
				t.Errorf("shown is %+v instead of %+v, %v", shown, h, err)
			}
			if own.Every != policy(t, text).Every || own.Cron != policy(t, text).Cron {
				t.Errorf("the policy is %+v", own)
			}
		}
		move(`{"every":"30h"}`, "every 30h", 30*time.Hour)
		run = s.next(run)
		wantAt(t, "the harvest that was moved away", run.CreatedAt, c.run.CreatedAt.Add(30*time.Hour))
		s.wait(run)
		move(`{"every":"2h"}`, "every 2h", 2*time.Hour)
		move(`{"cron":"30 * * * *"}`, "cron 30 * * * *", 30*time.Minute)
		following := s.next(run)
		wantAt(t, "the harvest that was moved up", following.CreatedAt, run.CreatedAt.Add(30*time.Minute))
		run = s.wait(following)
		move(`{}`, "every 6h", 6*time.Hour)

		// What is wrong together with the source's is refused and not stored.
		before := s.plans(c.account)
		bad := schedule.Policy{Zone: "Mars/Olympus"}
		if _, err := s.svc.Engine.SetSchedule(t.Context(), c.account.ID, bad); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("a bad zone: %v", err)
		}
		if own, h, err := s.svc.Engine.Schedule(t.Context(), c.account.ID); err != nil || h != before || own != (schedule.Policy{}) {
			t.Errorf("after a refusal: %+v, %+v, %v", own, h, err)
		}
	})
}

// TestSomebodyElsesRunComesFirst: a harvest that a person's run overtook is
// planned anew from that one's end, and one whose failed jobs a person had done
// begins no run to do them again.
func TestSomebodyElsesRunComesFirst(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		f := newField(2, 1000)
		broken := true
		f.fails = func(c source.Call) *source.Result {
			if broken && c.Job.Resource == "item:1" {
				return server(c)
			}
			return nil
		}
		s := started(t, f, harvesting(t, `{"spread":"0s","every":"6h"}`, 1000))
		c := s.signs("octocat", "secret")
		s.wait(c.run)
		if h := s.plans(c.account); h.Resume != c.run.ID {
			t.Fatalf("planned is %+v", h)
		}
		broken = false
		if _, err := s.svc.Engine.ResumeRun(t.Context(), c.run.ID, domain.PriorityHigh); err != nil {
			t.Fatal(err)
		}
		s.until("the end", func() bool { return s.stored(c.run).Failed == 0 && !s.stored(c.run).Status.Active() })
		pass(time.Second)
		if h := s.plans(c.account); h.Resume != 0 || h.Priority != domain.PriorityLow {
			t.Errorf("planned is %+v", h)
		}
		pass(2 * time.Hour)
		manual := s.wait(s.run(c.account))
		following := s.next(manual)
		wantAt(t, "the harvest", following.CreatedAt, manual.CreatedAt.Add(6*time.Hour))
		if n := len(s.allRuns(c.account)); n != 3 {
			t.Errorf("there were %d runs", n)
		}
	})
}

// TestAccountThatNeverRan is collected without anybody asking, but whoever
// signs it up comes first.
func TestAccountThatNeverRan(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := started(t, newField(1, 1000), harvesting(t, `{"spread":"0s","every":"6h"}`, 1000))
		stored := s.account("stored")
		for range 20 {
			if c := s.signs(fmt.Sprint("asked", time.Now().UnixNano()), "secret"); c.run.Trigger != domain.TriggerSignup {
				t.Errorf("the first run is %+v", c.run)
			}
			pass(time.Millisecond)
		}
		s.until("its first run", func() bool { return len(s.allRuns(stored)) > 0 })
		if run := s.allRuns(stored)[0]; run.Trigger != domain.TriggerSchedule || run.CreatedAt.Sub(stored.CreatedAt) > 2*time.Minute {
			t.Errorf("the first run is %+v", run)
		}
	})
}

// TestHerdIsSpread: accounts whose quota resets at the same instant begin within
// ten minutes, and in none of them more than a fifth: evenly distributed it would
// be a tenth. The plans of a thousand are tested where they are made.
func TestHerdIsSpread(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		accounts := testkit.Effort(48, 120)
		most := accounts / 3
		o := harvesting(t, `{}`, 1000)
		o.Statistics = &countingStatistics{}
		s := started(t, newField(1, 1000), o)
		var last collection
		for i := range accounts {
			last = s.signs(fmt.Sprint("account", i), fmt.Sprint("token ", i))
		}
		pass(time.Minute)
		reset := last.run.CreatedAt.Truncate(time.Hour).Add(time.Hour)
		pass(time.Until(reset.Add(20 * time.Minute)))
		perMinute := map[time.Duration]int{}
		begun := 0
		accountsNow, err := s.raw.Accounts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range accountsNow {
			runs := s.allRuns(a)
			if len(runs) != 2 {
				t.Fatalf("%s had %d runs", a.Login, len(runs))
			}
			begun++
			after := runs[1].CreatedAt.Sub(reset)
			if after < 5*time.Minute || after > 15*time.Minute+5*time.Second {
				t.Errorf("%s began %s after the reset", a.Login, after)
			}
			perMinute[after.Truncate(time.Minute)]++
		}
		for minute, n := range perMinute {
			if n > most {
				t.Errorf("%d accounts began in the minute %s after the reset, want at most %d", n, minute, most)
			}
		}
		if begun != accounts || len(perMinute) < 8 {
			t.Errorf("%d accounts began in %d minutes", begun, len(perMinute))
		}
	})
}
