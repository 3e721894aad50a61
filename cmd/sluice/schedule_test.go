package main_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	sim "sluice/internal/simulator/github"
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
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	s := up(t, u, nil, "--every", "6h", "--spread", "0s")
	login := u.Logins()[0]
	s.completes(s.signup(login, u.Token(login)))
	schedule := func(args ...string) []string {
		return append(append([]string{"account", "schedule", login}, args...), "--server", s.url)
	}
	shows := func(args []string, texts ...string) {
		t.Helper()
		a := sluice(t, nil, args...).expect(t, 0)
		for _, text := range texts {
			if !strings.Contains(a.out, text) {
				t.Errorf("%v does not show %q: %s", args, text, a.out)
			}
		}
	}
	shows(schedule("--every", "90m"), login+": every 1h30m", "next: a new run at ", "LOW priority: every 1h30m")
	shows(schedule(), "every 1h30m", "next: a new run at ")
	shown := decode[scheduleJSON](t, sluice(t, nil, schedule("--cron", "0 3 * * *", "--zone", "Asia/Seoul", "--output", "json")...).expect(t, 0).out)
	if shown.Login != login || shown.Policy.Cron != "0 3 * * *" || shown.Policy.Zone != "Asia/Seoul" || shown.Policy.Every != "" {
		t.Errorf("got %+v", shown)
	}
	if shown.Next == nil || shown.Next.Priority != "LOW" || !strings.HasSuffix(shown.Next.At, "18:00:00Z") || !strings.Contains(shown.Next.Reason, "cron 0 3") {
		t.Errorf("next is %+v", shown.Next)
	}
	// What the service is told in the environment is not the account's own.
	env := []string{"SLUICE_EVERY=5h"}
	if a := sluice(t, env, schedule()...).expect(t, 0); !strings.Contains(a.out, "cron 0 3") {
		t.Errorf("showing has changed something: %s", a.out)
	}
	if a := sluice(t, env, schedule("--quiet", "01:00-02:00 UTC")...).expect(t, 0); strings.Contains(a.out, "every 5h") {
		t.Errorf("got %s", a.out)
	}
	shows(schedule("--off"), "collected when somebody asks", "nothing is planned")
	shows(schedule("--standard"), "collected as all accounts are", "every 6h")
	shown = decode[scheduleJSON](t, sluice(t, nil, schedule("--output", "json")...).expect(t, 0).out)
	if shown.Policy.Off != nil || shown.Policy.Cron != "" || shown.Next == nil || shown.Next.Reason != "every 6h" {
		t.Errorf("got %+v", shown)
	}

	a := sluice(t, nil, "account", "delete", login, "--server", s.url).expect(t, 0)
	if !strings.Contains(a.out, "is deleted") {
		t.Errorf("got %s", a.out)
	}
	shows(schedule(), "nothing is planned")
	gone := decode[struct{ Login, State string }](t, sluice(t, nil, "account", "delete", login, "--server", s.url, "--output", "json").expect(t, 0).out)
	if gone.Login != login || gone.State != "deleted" {
		t.Errorf("got %+v", gone)
	}
	sluice(t, nil, "account", "delete", "nobody", "--server", s.url).expect(t, 1, "there is no")
	sluice(t, nil, "account", "schedule", "nobody", "--server", s.url).expect(t, 1, "there is no")
	again := s.signup(login, u.Token(login))
	s.completes(again)
}

func TestRunPriorityAndResume(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 2, Limits: sim.Limits{CoreLimit: 100, GraphQLLimit: 100}})
	s := up(t, u, nil)
	logins := u.Logins()
	u.FailNext(sim.PathContains("/events"), 5, sim.ServerError(http.StatusInternalServerError))
	run := s.signup(logins[0], u.Token(logins[0]))
	id := fmt.Sprint(run)
	a := sluice(t, nil, "run", "priority", id, "low", "--server", s.url).expect(t, 0)
	if !strings.Contains(a.out, "run "+id+" of "+logins[0]+" is RUNNING with LOW priority") {
		t.Errorf("got %s", a.out)
	}
	shown := decode[struct {
		ID       int
		Priority string
	}](t, sluice(t, nil, "run", "priority", id, "HIGH", "--server", s.url, "--output", "json").expect(t, 0).out)
	if shown.ID != run || shown.Priority != "HIGH" {
		t.Errorf("got %+v", shown)
	}
	sluice(t, nil, "run", "priority", "99", "high", "--server", s.url).expect(t, 1, "there is no")
	sluice(t, nil, "run", "resume", "99", "--server", s.url).expect(t, 1, "there is no")
	s.completes(run)
	if text := s.get("/api/v1/runs/" + id); !strings.Contains(text, `"failed_jobs":1`) {
		t.Fatalf("the run ended as %s", text)
	}
	plan := decode[scheduleJSON](t, sluice(t, nil, "account", "schedule", logins[0], "--server", s.url, "--output", "json").expect(t, 0).out)
	if plan.Next == nil || plan.Next.Resume != run || plan.Next.Priority != "HIGH" {
		t.Errorf("planned is %+v", plan.Next)
	}
	if a := sluice(t, nil, "account", "schedule", logins[0], "--server", s.url); !strings.Contains(a.out, "run "+id+" goes on at ") {
		t.Errorf("got %s", a.out)
	}
	a = sluice(t, nil, "run", "resume", id, "--server", s.url).expect(t, 0)
	if !strings.Contains(a.out, "run "+id+" of "+logins[0]) || !strings.Contains(a.out, "HIGH priority") {
		t.Errorf("got %s", a.out)
	}
	s.completes(run)
	if text := s.get("/api/v1/runs/" + id); !strings.Contains(text, `"failed_jobs":0`) {
		t.Errorf("after it went on: %s", text)
	}
	sluice(t, nil, "run", "resume", id, "--server", s.url).expect(t, 1, "no job that another attempt could help")
	sluice(t, nil, "run", "priority", id, "low", "--server", s.url).expect(t, 1, "COMPLETED")
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
		"no duration":       {[]string{"account", "schedule", "a", "--every", "often"}, []string{"often"}},
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
			a := sluice(t, nil, args...).expect(t, 2, tc.says...)
			if a.out != "" || strings.Count(a.errOut, "\n") != 1 {
				t.Errorf("want one line on stderr alone, got %q and %q", a.out, a.errOut)
			}
		})
	}
}
