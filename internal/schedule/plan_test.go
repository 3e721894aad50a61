package schedule_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/schedule"
)

const account = 42

func policy(t *testing.T, text string) schedule.Policy {
	t.Helper()
	p, err := schedule.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// at reads an instant of UTC.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

func TestNextAfterSuccess(t *testing.T) {
	for _, tc := range []struct {
		policy, began, now, reset string
		window                    time.Duration
		want, reason              string
	}{
		{`{"spread":"0s"}`, "2026-03-02 13:00", "2026-03-02 13:30", "2026-03-02 14:05", 0,
			"2026-03-02 14:10", "quota resets at 14:05 UTC"},
		{`{"spread":"0s","after_success":"0s"}`, "2026-03-02 13:00", "2026-03-02 13:30", "2026-03-03 14:05", 0,
			"2026-03-03 14:05", "quota resets at 2026-03-03 14:05 UTC"},
		{`{"spread":"0s"}`, "2026-03-02 13:00", "2026-03-02 13:30", "", 0,
			"2026-03-02 14:35", "quota resets at 14:30 UTC at the latest"},
		{`{"spread":"0s"}`, "2026-03-02 13:00", "2026-03-02 13:30", "2026-03-02 13:29", 20 * time.Minute,
			"2026-03-02 13:55", "quota resets at 13:50 UTC at the latest"},
		{`{"spread":"0s","every":"6h"}`, "2026-03-02 13:00", "2026-03-02 13:30", "2026-03-02 14:05", 0,
			"2026-03-02 19:00", "every 6h"},
		{`{"spread":"0s","every":"1h"}`, "2026-03-02 13:00", "2026-03-02 15:30", "", 0,
			"2026-03-02 15:30", "every 1h, which have passed since the last run began"},
		{`{"spread":"0s","cron":"0 3 * * *","zone":"Asia/Seoul"}`, "2026-03-02 13:00", "2026-03-02 13:30", "", 0,
			"2026-03-02 18:00", "cron 0 3 * * * (Asia/Seoul)"},
		{`{"spread":"0s","cron":"0 3 * * *","zone":"Asia/Seoul"}`, "2026-03-02 18:00", "2026-03-02 18:00", "", 0,
			"2026-03-03 18:00", "cron 0 3 * * * (Asia/Seoul)"},
		{`{"spread":"0s","cron":"@weekly","zone":"UTC"}`, "2026-03-02 18:00", "2026-03-02 18:00", "", 0,
			"2026-03-08 00:00", "cron @weekly (UTC)"},
		// As cron has it: the 13th of a month, or a Friday.
		{`{"spread":"0s","cron":"0 0 13 * FRI","zone":"UTC"}`, "2026-03-02 18:00", "2026-03-02 18:00", "", 0,
			"2026-03-06 00:00", "cron 0 0 13 * FRI (UTC)"},
		{`{"spread":"0s","cron":"0 0 29 2 *","zone":"UTC"}`, "2026-03-02 18:00", "2096-03-02 18:00", "", 0,
			"2104-02-29 00:00", "cron 0 0 29 2 * (UTC)"},
		{`{"spread":"0s","every":"6h","quiet":"22:00-06:00 UTC"}`, "2026-03-02 17:00", "2026-03-02 18:00", "", 0,
			"2026-03-03 06:00", "every 6h; quiet hours 22:00-06:00 UTC end at 2026-03-03 06:00 UTC"},
		// Quiet hours without a zone are in the policy's.
		{`{"spread":"0s","every":"1h","quiet":"22:00-06:00","zone":"Asia/Seoul"}`, "2026-03-02 13:00", "2026-03-02 13:30", "", 0,
			"2026-03-02 21:00", "every 1h; quiet hours 22:00-06:00 Asia/Seoul end at 21:00 UTC"},
		{`{"spread":"0s","every":"1h","quiet":"22:00-06:00 UTC","zone":"Asia/Seoul"}`, "2026-03-02 13:00", "2026-03-02 13:30", "", 0,
			"2026-03-02 14:00", "every 1h"},
		// The free hour of this day is the one that Berlin leaves out.
		{`{"spread":"0s","every":"1h","quiet":"03:00-02:00 Europe/Berlin"}`, "2026-03-28 12:00", "2026-03-28 12:30", "", 0,
			"2026-03-30 00:00", "every 1h; quiet hours 03:00-02:00 Europe/Berlin end at 2026-03-30 00:00 UTC"},
	} {
		e := schedule.Ended{Account: account, Run: 7, RunBegan: at(t, tc.began), Now: at(t, tc.now), Window: tc.window}
		if tc.reset != "" {
			e.Reset = at(t, tc.reset)
		}
		got := schedule.Next(policy(t, tc.policy), e)
		want := schedule.Plan{At: at(t, tc.want), Priority: domain.PriorityLow, Reason: tc.reason}
		if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", tc.policy, got, want)
		}
	}
}

func TestNextAfterFailure(t *testing.T) {
	now := at(t, "2026-03-02 13:30")
	e := schedule.Ended{
		Account: account, Run: 7, RunBegan: at(t, "2026-03-02 13:00"), Now: now, Reset: at(t, "2026-03-02 14:05"),
		Failed: true, FailedJobs: 2, Jobs: 40,
	}
	for e.Tries = range schedule.MaxResumes {
		want := schedule.Plan{
			At: at(t, "2026-03-02 14:00"), Priority: domain.PriorityHigh, Resume: 7, Tries: e.Tries + 1,
			Reason: "2 of 40 jobs failed; they are retried",
		}
		if got := schedule.Next(policy(t, `{"cron":"@daily","spread":"1h"}`), e); got != want {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
	e.Tries = schedule.MaxResumes
	want := schedule.Plan{
		At: at(t, "2026-03-02 14:10"), Priority: domain.PriorityLow,
		Reason: "2 of 40 jobs failed, also after 5 retries; quota resets at 14:05 UTC",
	}
	if got := schedule.Next(policy(t, `{"spread":"0s"}`), e); got != want {
		t.Errorf("after all retries: got %+v\nwant %+v", got, want)
	}
	e.Tries, e.FailedJobs, e.Jobs = 0, 0, 0
	want = schedule.Plan{
		At: at(t, "2026-03-02 18:00"), Priority: domain.PriorityHigh, Resume: 7, Tries: 1,
		Reason: "jobs failed; they are retried; quiet hours 13:00-18:00 UTC end at 18:00 UTC",
	}
	if got := schedule.Next(policy(t, `{"after_failure":"1m","quiet":"13:00-18:00 UTC"}`), e); got != want {
		t.Errorf("in quiet hours: got %+v\nwant %+v", got, want)
	}
}

func TestOffPlansNothing(t *testing.T) {
	p := policy(t, `{"off":true,"every":"1h"}`)
	now := at(t, "2026-03-02 13:30")
	for _, plan := range []schedule.Plan{
		schedule.First(p, account, now),
		schedule.Next(p, schedule.Ended{Account: account, Now: now}),
		schedule.Next(p, schedule.Ended{Account: account, Now: now, Run: 7, Failed: true}),
	} {
		if !plan.None() || plan.Resume != 0 || !strings.Contains(plan.Reason, "off") {
			t.Errorf("%+v", plan)
		}
	}
	if schedule.First(policy(t, `{"off":false}`), account, now).None() {
		t.Error("nothing is planned although it is not off")
	}
}

func TestFirst(t *testing.T) {
	for text, want := range map[string]string{
		`{"spread":"0s"}`:                                        "2026-03-02 13:30",
		`{"spread":"0s","every":"6h"}`:                           "2026-03-02 13:30",
		`{"spread":"0s","every":"6h","quiet":"12:00-15:00 UTC"}`: "2026-03-02 15:00",
		`{"spread":"0s","cron":"0 3 * * *","zone":"Asia/Seoul"}`: "2026-03-02 18:00",
	} {
		got := schedule.First(policy(t, text), account, at(t, "2026-03-02 13:30"))
		if !got.At.Equal(at(t, want)) || got.Priority != domain.PriorityLow || got.Resume != 0 || got.Reason == "" {
			t.Errorf("%s: %+v, want %s", text, got, want)
		}
	}
}

// TestDefaultSpreadKeepsThePace: a spread that nobody chose is small beside the
// time between two runs; one that somebody chose is taken as it is.
func TestDefaultSpreadKeepsThePace(t *testing.T) {
	now := at(t, "2026-03-02 13:30")
	for text, most := range map[string]time.Duration{
		`{"every":"5m"}`:                      30 * time.Second,
		`{"every":"24h"}`:                     10 * time.Minute,
		`{"cron":"*/5 * * * *","zone":"UTC"}`: 30 * time.Second,
		`{"cron":"0 3 * * *","zone":"UTC"}`:   10 * time.Minute,
		`{}`:                                  10 * time.Minute,
		`{"every":"5m","spread":"20m"}`:       20 * time.Minute,
		`{"spread":"0s"}`:                     0,
	} {
		p := policy(t, text)
		exact := p
		exact.Spread = schedule.For(0)
		farthest := time.Duration(0)
		for account := range int64(1000) {
			e := schedule.Ended{Account: account, RunBegan: now, Now: now}
			moved := schedule.Next(p, e).At.Sub(schedule.Next(exact, e).At)
			if moved < 0 || moved > most {
				t.Fatalf("%s: account %d is moved by %s", text, account, moved)
			}
			farthest = max(farthest, moved)
		}
		if farthest < most*95/100 {
			t.Errorf("%s: no account is moved by more than %s", text, farthest)
		}
	}
}

// TestUncheckedPoliciesPlanSomething: a policy stored on a machine that knew
// more time zones must not end the collection.
func TestUncheckedPoliciesPlanSomething(t *testing.T) {
	now := at(t, "2026-03-02 13:30")
	for _, p := range []schedule.Policy{
		{Cron: "0 3 * * *", Zone: "Mars/Olympus"},
		{Cron: "three o'clock"},
		{Cron: "TZ=UTC"},
		{Zone: "Mars/Olympus", Quiet: policy(t, `{"quiet":"22:00-06:00"}`).Quiet},
		{Spread: schedule.For(-time.Hour)},
	} {
		for _, plan := range []schedule.Plan{
			schedule.First(p, account, now),
			schedule.Next(p, schedule.Ended{Account: account, RunBegan: now, Now: now}),
		} {
			if plan.At.Before(now) || plan.At.After(now.Add(2*time.Hour)) {
				t.Errorf("%+v is planned as %+v", p, plan)
			}
			if p.Spread == nil && !strings.Contains(plan.Reason, "; write") {
				t.Errorf("the reason does not say what is wrong: %s", plan.Reason)
			}
		}
	}
}
