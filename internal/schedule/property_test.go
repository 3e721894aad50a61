package schedule_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/internal/domain"
	"sluice/internal/schedule"
)

// setRapid tells rapid how many cases to try and with which seed. It prints the
// seed, and takes one from SLUICE_TEST_SEED.
func setRapid(t *testing.T, checks int) {
	t.Helper()
	seed := strconv.FormatUint(rand.Uint64(), 10)
	if given := os.Getenv("SLUICE_TEST_SEED"); given != "" {
		seed = given
	}
	t.Logf("SLUICE_TEST_SEED=%s", seed)
	for name, value := range map[string]string{"rapid.seed": seed, "rapid.nofailfile": "true", "rapid.checks": strconv.Itoa(checks)} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// drawPolicy draws a policy that Check accepts.
func drawPolicy(t *rapid.T) schedule.Policy {
	length := func(name string, most time.Duration) *schedule.Duration {
		if rapid.Bool().Draw(t, name+" is left open") {
			return nil
		}
		return schedule.For(time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, name)))
	}
	p := schedule.Policy{
		// A zone always: the local one is another on each machine.
		Zone:         rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Seoul", "Australia/Lord_Howe"}).Draw(t, "zone"),
		AfterSuccess: length("after success", 2*time.Hour),
		AfterFailure: length("after failure", 12*time.Hour),
		Spread:       length("spread", 30*time.Hour),
	}
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 1:
		p.Every = schedule.Duration(rapid.Int64Range(int64(time.Minute), int64(72*time.Hour)).Draw(t, "every"))
	case 2:
		p.Cron = drawExpression(t).text
	}
	if rapid.Bool().Draw(t, "quiet") {
		p.Quiet = drawHours(t)
	}
	if err := p.Check(); err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	return p
}

// drawHours draws hours that leave an hour or more.
func drawHours(t *rapid.T) domain.Hours {
	from := rapid.IntRange(0, 24*60-1).Draw(t, "quiet from")
	to := (from + rapid.IntRange(1, 23*60).Draw(t, "quiet minutes")) % (24 * 60)
	clock := func(minutes int) string { return time.Unix(int64(minutes)*60, 0).UTC().Format("15:04") }
	h, err := domain.ParseHours(clock(from) + "-" + clock(to))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func drawEnded(t *rapid.T) schedule.Ended {
	// Half of the days are near one on which clocks change.
	now := rapid.SampledFrom([]time.Time{
		time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
	}).Draw(t, "day").Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "now")))
	e := schedule.Ended{
		Account:  rapid.Int64().Draw(t, "account"),
		Run:      rapid.Int64Range(1, 1000).Draw(t, "run"),
		Now:      now,
		RunBegan: now.Add(-time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "took"))),
		Window:   time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "window")),
		Failed:   rapid.Bool().Draw(t, "failed"),
		Tries:    rapid.IntRange(0, schedule.MaxResumes+1).Draw(t, "tries"),
	}
	if rapid.Bool().Draw(t, "reset is known") {
		e.Reset = now.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(24*time.Hour)).Draw(t, "reset")))
	}
	return e
}

// quietOf returns quiet hours in the policy's zone.
func quietOf(t *rapid.T, p schedule.Policy) domain.Hours {
	if p.Quiet.IsZero() {
		return p.Quiet
	}
	h, err := domain.ParseHours(p.Quiet.String() + " " + p.Zone)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestPlansKeepTheirPromises: never before now, never in quiet hours, always
// the same, and with a reason.
func TestPlansKeepTheirPromises(t *testing.T) {
	setRapid(t, 2000)
	rapid.Check(t, func(t *rapid.T) {
		p, e := drawPolicy(t), drawEnded(t)
		quiet := quietOf(t, p)
		for _, plan := range []schedule.Plan{schedule.Next(p, e), schedule.First(p, e.Account, e.Now)} {
			if plan.At.Before(e.Now) {
				t.Fatalf("it is %s, the plan is %+v", e.Now, plan)
			}
			if end, inside := quiet.Until(plan.At); inside {
				t.Fatalf("%+v is in quiet hours %s until %s", plan, quiet, end)
			}
			if plan.Reason == "" || (plan.Priority != domain.PriorityLow && plan.Priority != domain.PriorityHigh) {
				t.Fatalf("%+v", plan)
			}
		}
		plan := schedule.Next(p, e)
		if again := schedule.Next(p, e); again != plan {
			t.Fatalf("first %+v, then %+v", plan, again)
		}
		resumed := e.Failed && e.Tries < schedule.MaxResumes
		if (plan.Resume == e.Run) != resumed || (plan.Tries == e.Tries+1) != resumed || (plan.Priority == domain.PriorityHigh) != resumed {
			t.Fatalf("%+v follows %+v", plan, e)
		}
	})
}

// TestSpreadIsBoundedAndStable: without quiet hours an account's start is moved
// by its share, by the same at every reset; quiet hours end in a spread as well.
func TestSpreadIsBoundedAndStable(t *testing.T) {
	setRapid(t, 2000)
	rapid.Check(t, func(t *rapid.T) {
		p, e := drawPolicy(t), drawEnded(t)
		e.Failed = false
		spread := schedule.DefaultSpread
		if p.Spread != nil {
			spread = time.Duration(*p.Spread)
		}
		quiet := quietOf(t, p)
		p.Quiet = domain.Hours{}
		exact := p
		exact.Spread = schedule.For(0)
		free, base := schedule.Next(p, e).At, schedule.Next(exact, e).At
		if free.Before(base) || free.Sub(base) > spread {
			t.Fatalf("moved by %s of %s", free.Sub(base), spread)
		}
		if p.Every == 0 && p.Cron == "" {
			later := e
			later.Now, later.Reset = e.Now.Add(777*time.Hour), e.Now.Add(778*time.Hour)
			if moved := schedule.Next(p, later).At.Sub(schedule.Next(exact, later).At); moved != free.Sub(base) {
				t.Fatalf("moved by %s and at another reset by %s", free.Sub(base), moved)
			}
		}
		p.Quiet = quiet
		end, inside := quiet.Until(free)
		switch got := schedule.Next(p, e).At; {
		case !inside && !got.Equal(free):
			t.Fatalf("%s is outside of quiet hours and was moved to %s", free, got)
		case inside && got.Before(end):
			t.Fatalf("%s is before %s, the end of quiet hours %s", got, end, quiet)
		}
	})
}

// TestNoHerd: of a thousand accounts that would begin at the same instant,
// spread over ten minutes, no minute has more than 160 (an even spread has 100)
// and no second more than 20; at a quota's reset, and at the end of quiet hours.
func TestNoHerd(t *testing.T) {
	setRapid(t, 200)
	now := time.Date(2026, 3, 2, 13, 30, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64().Draw(t, "first id")
		step := rapid.OneOf(rapid.Int64Range(1, 16), rapid.Int64Range(1, 1<<40)).Draw(t, "step")
		p := schedule.Policy{}
		if rapid.Bool().Draw(t, "quiet") {
			h, err := domain.ParseHours("13:00-18:00 UTC")
			if err != nil {
				t.Fatal(err)
			}
			p.Quiet = h
		}
		minutes, seconds := map[int64]int{}, map[int64]int{}
		for i := range int64(1000) {
			at := schedule.Next(p, schedule.Ended{Account: first + i*step, RunBegan: now, Now: now, Reset: now.Add(time.Hour)}).At
			minutes[at.Unix()/60]++
			seconds[at.Unix()]++
		}
		for minute, n := range minutes {
			if n > 160 {
				t.Fatalf("%d accounts begin at %s", n, time.Unix(minute*60, 0).UTC())
			}
		}
		for second, n := range seconds {
			if n > 20 {
				t.Fatalf("%d accounts begin at %s", n, time.Unix(second, 0).UTC())
			}
		}
	})
}

// TestNoHerdInTheOneFreeHour: with a spread of three hours and one free hour a
// day, no minute of it has more than 80 of a thousand accounts.
func TestNoHerdInTheOneFreeHour(t *testing.T) {
	p := policy(t, `{"quiet":"03:00-02:00 UTC","spread":"3h","every":"1h"}`)
	now := at(t, "2026-03-02 12:00")
	minutes := map[time.Time]int{}
	for account := range int64(1000) {
		plan := schedule.Next(p, schedule.Ended{Account: account, RunBegan: now, Now: now})
		if plan.At.Before(at(t, "2026-03-03 02:00")) || !plan.At.Before(at(t, "2026-03-03 03:00")) {
			t.Fatalf("account %d begins at %s", account, plan.At)
		}
		minutes[plan.At.Truncate(time.Minute)]++
	}
	for minute, n := range minutes {
		if n > 80 {
			t.Errorf("%d accounts begin at %s", n, minute)
		}
	}
}
