package collection_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// scheduleJSON is what `account schedule` prints.
type scheduleJSON struct {
	Login  string
	Policy struct {
		Off                      *bool
		Every, Cron, Zone, Quiet string
	}
	Next *struct {
		At, Priority, Reason string
		Resume               int
	}
}

func TestAccountSchedule(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	s := sluice.Up(t, u, nil, "--every", "6h", "--spread", "0s")
	login := u.Logins()[0]
	s.Completes(s.Signup(login, u.Token(login)))
	schedule := func(args ...string) []string {
		return append(append([]string{"account", "schedule", login}, args...), "--server", s.URL)
	}
	shows := func(args []string, texts ...string) {
		t.Helper()
		a := sluice.Run(t, nil, args...).Expect(t, 0)
		for _, text := range texts {
			if !strings.Contains(a.Out, text) {
				t.Errorf("%v does not show %q: %s", args, text, a.Out)
			}
		}
	}
	shows(schedule("--every", "90m"), login+": every 1h30m", "next: a new run at ", "LOW priority: every 1h30m")
	shows(schedule(), "every 1h30m", "next: a new run at ")
	shown := sluice.Decode[scheduleJSON](t, sluice.Run(t, nil, schedule("--cron", "0 3 * * *", "--zone", "Asia/Seoul", "--output", "json")...).Expect(t, 0).Out)
	if shown.Login != login || shown.Policy.Cron != "0 3 * * *" || shown.Policy.Zone != "Asia/Seoul" || shown.Policy.Every != "" {
		t.Errorf("got %+v", shown)
	}
	if shown.Next == nil || shown.Next.Priority != "LOW" || !strings.HasSuffix(shown.Next.At, "18:00:00Z") || !strings.Contains(shown.Next.Reason, "cron 0 3") {
		t.Errorf("next is %+v", shown.Next)
	}
	// What the service is told in the environment is not the account's own.
	env := []string{"SLUICE_EVERY=5h"}
	if a := sluice.Run(t, env, schedule()...).Expect(t, 0); !strings.Contains(a.Out, "cron 0 3") {
		t.Errorf("showing has changed something: %s", a.Out)
	}
	if a := sluice.Run(t, env, schedule("--quiet", "01:00-02:00 UTC")...).Expect(t, 0); strings.Contains(a.Out, "every 5h") {
		t.Errorf("got %s", a.Out)
	}
	shows(schedule("--off"), "collected only on request", "nothing is planned")
	shows(schedule("--standard"), "follows the schedule of all accounts", "every 6h")
	shown = sluice.Decode[scheduleJSON](t, sluice.Run(t, nil, schedule("--output", "json")...).Expect(t, 0).Out)
	if shown.Policy.Off != nil || shown.Policy.Cron != "" || shown.Next == nil || shown.Next.Reason != "every 6h" {
		t.Errorf("got %+v", shown)
	}

	a := sluice.Run(t, nil, "account", "delete", login, "--server", s.URL).Expect(t, 0)
	if !strings.Contains(a.Out, "is deleted") {
		t.Errorf("got %s", a.Out)
	}
	shows(schedule(), "nothing is planned")
	gone := sluice.Decode[struct{ Login, State string }](t, sluice.Run(t, nil, "account", "delete", login, "--server", s.URL, "--output", "json").Expect(t, 0).Out)
	if gone.Login != login || gone.State != "deleted" {
		t.Errorf("got %+v", gone)
	}
	sluice.Run(t, nil, "account", "delete", "nobody", "--server", s.URL).Expect(t, 1, "there is no")
	sluice.Run(t, nil, "account", "schedule", "nobody", "--server", s.URL).Expect(t, 1, "there is no")
	again := s.Signup(login, u.Token(login))
	s.Completes(again)
}

func TestRunPriorityAndResume(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2, Limits: sim.Limits{CoreLimit: 100, GraphQLLimit: 100}})
	s := sluice.Up(t, u, nil)
	logins := u.Logins()
	u.FailNext(sim.PathContains("/events"), 5, sim.ServerError(http.StatusInternalServerError))
	run := s.Signup(logins[0], u.Token(logins[0]))
	id := fmt.Sprint(run)
	a := sluice.Run(t, nil, "run", "priority", id, "low", "--server", s.URL).Expect(t, 0)
	if !strings.Contains(a.Out, "run "+id+" of "+logins[0]+" is RUNNING with LOW priority") {
		t.Errorf("got %s", a.Out)
	}
	shown := sluice.Decode[struct {
		ID       int
		Priority string
	}](t, sluice.Run(t, nil, "run", "priority", id, "HIGH", "--server", s.URL, "--output", "json").Expect(t, 0).Out)
	if shown.ID != run || shown.Priority != "HIGH" {
		t.Errorf("got %+v", shown)
	}
	sluice.Run(t, nil, "run", "priority", "99", "high", "--server", s.URL).Expect(t, 1, "there is no")
	sluice.Run(t, nil, "run", "resume", "99", "--server", s.URL).Expect(t, 1, "there is no")
	s.Completes(run)
	if text := s.Get("/api/v1/runs/" + id); !strings.Contains(text, `"failed_jobs":1`) {
		t.Fatalf("the run ended as %s", text)
	}
	var plan scheduleJSON
	for late := time.Now().Add(sluice.Patience); plan.Next == nil && time.Now().Before(late); { // it follows the end of a run
		plan = sluice.Decode[scheduleJSON](t, sluice.Run(t, nil, "account", "schedule", logins[0], "--server", s.URL, "--output", "json").Expect(t, 0).Out)
	}
	if plan.Next == nil || plan.Next.Resume != run || plan.Next.Priority != "HIGH" {
		t.Errorf("planned is %+v", plan.Next)
	}
	if a := sluice.Run(t, nil, "account", "schedule", logins[0], "--server", s.URL); !strings.Contains(a.Out, "run "+id+" resumes at ") {
		t.Errorf("got %s", a.Out)
	}
	a = sluice.Run(t, nil, "run", "resume", id, "--server", s.URL).Expect(t, 0)
	if !strings.Contains(a.Out, "run "+id+" of "+logins[0]) || !strings.Contains(a.Out, "HIGH priority") {
		t.Errorf("got %s", a.Out)
	}
	s.Completes(run)
	if text := s.Get("/api/v1/runs/" + id); !strings.Contains(text, `"failed_jobs":0`) {
		t.Errorf("after it went on: %s", text)
	}
	sluice.Run(t, nil, "run", "resume", id, "--server", s.URL).Expect(t, 1, "no job that another attempt could help")
	sluice.Run(t, nil, "run", "priority", id, "low", "--server", s.URL).Expect(t, 1, "COMPLETED")
}

// TestWrongSchedules: refused before anything is asked or stored.
func TestWrongSchedules(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		says []string
	}{
		"no login":          {[]string{"account", "schedule"}, []string{"takes one login"}},
		"two logins":        {[]string{"account", "schedule", "a", "b"}, []string{"takes one login"}},
		"cron":              {[]string{"account", "schedule", "a", "--cron", "daily"}, []string{"daily", "five fields"}},
		"zone":              {[]string{"account", "schedule", "a", "--cron", "0 3 * * *", "--zone", "Mars/Olympus"}, []string{"Mars/Olympus", "Asia/Seoul"}},
		"every and cron":    {[]string{"account", "schedule", "a", "--every", "6h", "--cron", "0 3 * * *"}, []string{"leave one of them out"}},
		"too often":         {[]string{"account", "schedule", "a", "--every", "1s"}, []string{"1m or more"}},
		"not a duration":    {[]string{"account", "schedule", "a", "--every", "often"}, []string{"often"}},
		"quiet":             {[]string{"account", "schedule", "a", "--quiet", "late"}, []string{"late"}},
		"negative":          {[]string{"account", "schedule", "a", "--after-failure=-1m"}, []string{"after_failure", "0s for none"}},
		"service":           {[]string{"up", "--cron", "daily"}, []string{"daily", "five fields"}},
		"delete nobody":     {[]string{"account", "delete"}, []string{"takes one login"}},
		"no priority":       {[]string{"run", "priority", "1"}, []string{"high or low"}},
		"another priority":  {[]string{"run", "priority", "1", "urgent"}, []string{"high or low", "urgent"}},
		"priority of what":  {[]string{"run", "priority", "first", "high"}, []string{`"first"`, "sluice run list"}},
		"resume what":       {[]string{"run", "resume", "first"}, []string{`"first"`, "sluice run list"}},
		"resume without id": {[]string{"run", "resume"}, []string{"takes one id"}},
		"standard and more": {[]string{"account", "schedule", "a", "--standard", "--every", "6h"}, []string{"--standard"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(tc.args, "--data-dir", filepath.Join(t.TempDir(), "data"))
			a := sluice.Run(t, nil, args...).Expect(t, 2, tc.says...)
			if a.Out != "" || strings.Count(a.Err, "\n") != 1 {
				t.Errorf("want one line on stderr alone, got %q and %q", a.Out, a.Err)
			}
		})
	}
}
