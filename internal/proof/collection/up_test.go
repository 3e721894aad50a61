package collection_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

func TestUp(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2})
	s := sluice.Up(t, u, nil, "--log-level", "debug")
	for path, want := range map[string]string{"/livez": "", "/readyz": "", "/metrics": "sluice_", "/api/openapi.json": `"3.1`} {
		if text := s.Get(path); !strings.Contains(text, want) {
			t.Errorf("GET %s: %s", path, text)
		}
	}
	login := u.Logins()[0]
	run := s.Signup(login, u.Token(login))
	s.Completes(run)
	for path, want := range map[string]string{
		"/api/v1/runs": `"COMPLETED"`,
		fmt.Sprintf("/api/v1/runs/%d?ledger=true", run): `"gaps":0`,
		fmt.Sprintf("/api/v1/jobs?run=%d&limit=3", run): `"SUCCEEDED"`,
		"/api/v1/jobs/1":   `"run_id":1`,
		"/api/v1/accounts": login,
		"/api/v1/accounts/" + login + "/statistics": `"scores"`,
		"/api/v1/quota":                 `"core"`,
		"/metrics":                      "sluice_",
		"/api/v1/runs?account=" + login: login,
	} {
		if text := s.Get(path); !strings.Contains(text, want) {
			t.Errorf("GET %s does not show %s: %s", path, want, text)
		}
	}
	if status, text := s.Call(http.MethodPost, "/api/v1/accounts", `{"source":"github","login":"a b","token":"ghp_never_shown"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("got %d %s", status, text)
	}
	if status, text := s.Call(http.MethodPost, "/api/v1/accounts", `{"source":"github","login":"ab","token":["ghp_never_shown"]}`); status != http.StatusUnprocessableEntity {
		t.Errorf("got %d %s", status, text)
	}
	s.Signal(syscall.SIGTERM)
	if a := s.Ends().Expect(t, 0, "finishing"); a.Out != "" {
		t.Errorf("messages on stdout: %s", a.Out)
	}
	checkFolderKeepsSecrets(t, s.Dir, u.Token(login))
}

// checkFolderKeepsSecrets looks for a token in every file of a data folder.
func checkFolderKeepsSecrets(t *testing.T, dir, token string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), token) {
			t.Errorf("%s holds the token in clear", path)
		}
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("looked at %d files: %v", files, err)
	}
}

// TestOperating works on one service in the three ways: found by its data
// folder, named by its address, and not running at all.
func TestOperating(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2})
	s := sluice.Up(t, u, nil)
	logins := u.Logins()
	s.Completes(s.Signup(logins[0], u.Token(logins[0])))
	u.FailNext(sim.PathContains("/events"), 1, sim.Fault{Status: http.StatusGone, Body: `{"message":"gone"}`})
	failing := s.Signup(logins[1], u.Token(logins[1]))
	s.Completes(failing)

	t.Run("by data folder", func(t *testing.T) { operate(t, logins, "--data-dir", s.Dir) })
	t.Run("by address", func(t *testing.T) { operate(t, logins, "--server", s.URL, "--data-dir", "/nowhere") })

	// A failed job that is retried completes its run again.
	jobs := sluice.Decode[struct{ Items []struct{ ID int } }](t, sluice.Run(t, nil, "job", "list", "--status", "failed", "--server", s.URL, "--output", "json").Out)
	if len(jobs.Items) != 1 {
		t.Fatalf("got %+v", jobs)
	}
	sluice.Run(t, nil, "job", "retry", fmt.Sprint(jobs.Items[0].ID), "--server", s.URL).Expect(t, 0)
	s.Completes(failing)
	if text := s.Get(fmt.Sprintf("/api/v1/runs/%d", failing)); !strings.Contains(text, `"failed_jobs":0`) {
		t.Errorf("after the retry: %s", text)
	}
	sluice.Run(t, nil, "job", "retry", fmt.Sprint(jobs.Items[0].ID), "--server", s.URL).Expect(t, 1, "SUCCEEDED")

	s.Signal(syscall.SIGTERM)
	s.Ends().Expect(t, 0)
	t.Run("without a service", func(t *testing.T) { operate(t, logins, "--data-dir", s.Dir) })
	sluice.Run(t, nil, "run", "list", "--server", s.URL).Expect(t, 1, "no service listens", "sluice up")
	sluice.Run(t, nil, "run", "list", "--data-dir", filepath.Join(s.Dir, "elsewhere")).Expect(t, 1, "no data folder", "--data-dir")
}

// operate reads and changes what two collected accounts left.
func operate(t *testing.T, logins []string, where ...string) {
	run := func(code int, args ...string) sluice.Answer {
		t.Helper()
		return sluice.Run(t, nil, append(args, where...)...).Expect(t, code)
	}
	shows := func(want string, args ...string) {
		t.Helper()
		if a := run(0, args...); !strings.Contains(a.Out, want) {
			t.Errorf("%v does not show %q: %s", args, want, a.Out)
		}
	}
	shows(logins[0], "run", "list")
	shows("COMPLETED", "run", "list", "--account", logins[1], "--limit", "1")
	shows("0 gaps", "run", "show", "1")
	shows("USER_PROFILE", "run", "show", "1", "--ledger")
	shows("job 1 of run 1: ", "job", "show", "1")
	shows("SUCCEEDED", "job", "list", "--run", "1")
	list := sluice.Decode[struct{ Items []struct{ ID int } }](t, run(0, "run", "list", "--output", "json").Out)
	if len(list.Items) != 2 || list.Items[0].ID != 2 {
		t.Errorf("got %+v", list)
	}
	detail := sluice.Decode[struct {
		Status string
		Ledger []any
	}](t, run(0, "run", "show", "1", "--ledger", "--output", "json").Out)
	if detail.Status != "COMPLETED" || len(detail.Ledger) == 0 {
		t.Errorf("got %+v", detail)
	}
	if jobs := sluice.Decode[struct{ Items []any }](t, run(0, "job", "list", "--limit", "2", "--output", "json").Out); len(jobs.Items) != 2 {
		t.Errorf("got %+v", jobs)
	}
	shows("is paused", "account", "pause", logins[0], "--reason", "on holiday")
	shows("on holiday", "account", "list")
	shows("is active", "account", "resume", logins[0])
	if a := run(1, "run", "cancel", "1"); !strings.Contains(a.Err, "COMPLETED") {
		t.Errorf("got %s", a.Err)
	}
	for _, args := range [][]string{{"run", "show", "99"}, {"job", "show", "9999"}, {"account", "pause", "nobody"}, {"run", "cancel", "99"}} {
		if a := run(1, args...); !strings.Contains(a.Err, "there is no") || a.Out != "" {
			t.Errorf("%v: %+v", args, a)
		}
	}
}

func TestCancelARunThatWaits(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1, Limits: sim.Limits{CoreLimit: 2, GraphQLLimit: 2}})
	s := sluice.Up(t, u, nil)
	login := u.Logins()[0]
	run := fmt.Sprint(s.Signup(login, u.Token(login)))
	// The stream's first wait tells that the quota is used up.
	follow := sluice.Start(t, []string{"SLUICE_GITHUB_TOKEN=" + u.Token(login)}, "collect", login, "--server", s.URL)
	follow.Says("quota until")
	a := sluice.Run(t, nil, "run", "show", run, "--server", s.URL).Expect(t, 0)
	if !strings.Contains(a.Out, "quota until") || !strings.Contains(a.Out, " gap") {
		t.Errorf("got %s", a.Out)
	}
	if a := sluice.Run(t, nil, "run", "list", "--active", "--server", s.URL); !strings.Contains(a.Out, "RUNNING") {
		t.Errorf("got %s", a.Out)
	}
	a = sluice.Run(t, nil, "run", "cancel", run, "--reason", "not needed", "--server", s.URL).Expect(t, 0)
	if !strings.Contains(a.Out, "CANCELED") {
		t.Errorf("got %s", a.Out)
	}
	follow.Ends().Expect(t, 1, "CANCELED", "not needed")
	if audit := u.Audit(); audit.Violations != 0 || audit.Calls > 4 {
		t.Errorf("who signs up again gets no second ration: %+v", audit)
	}
}

func TestUpWithAToken(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	file := filepath.Join(t.TempDir(), "api-token")
	if err := os.WriteFile(file, []byte(sluice.APISecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"SLUICE_API_TOKEN=" + sluice.APISecret}
	for name, s := range map[string]*sluice.Service{
		"environment": sluice.Up(t, u, env),
		"file":        sluice.Up(t, u, nil, "--api-token", "@"+file),
		// Any address may be served with a token.
		"everywhere": everywhere(t, u, env),
	} {
		t.Run(name, func(t *testing.T) {
			if status, text := s.Call(http.MethodGet, "/api/v1/runs", ""); status != http.StatusUnauthorized {
				t.Errorf("without the token: %d %s", status, text)
			}
			s.Token = "wrong"
			if status, _ := s.Call(http.MethodGet, "/api/v1/runs", ""); status != http.StatusUnauthorized {
				t.Errorf("with a wrong token: %d", status)
			}
			s.Token = sluice.APISecret
			s.Get("/api/v1/runs")
			sluice.Run(t, nil, "run", "list", "--server", s.URL).Expect(t, 4, "API token")
			sluice.Run(t, env, "run", "list", "--server", s.URL).Expect(t, 0)
			sluice.Run(t, nil, "run", "list", "--data-dir", s.Dir, "--api-token", "@"+file).Expect(t, 0)
			s.Signal(syscall.SIGTERM)
			s.Ends().Expect(t, 0)
		})
	}
}

func everywhere(t *testing.T, u *sluice.Upstream, env []string) *sluice.Service {
	t.Helper()
	s := &sluice.Service{Dir: t.TempDir()}
	s.Program = sluice.Start(t, env, "up", "--addr", "0.0.0.0:0", "--data-dir", s.Dir, "--github-url", u.URL)
	said := s.Says("sluice serves http://")
	port := regexp.MustCompile(`:(\d+)/api`).FindStringSubmatch(said)
	if port == nil {
		t.Fatalf("there is no port in %q", said)
	}
	s.URL = "http://127.0.0.1:" + port[1]
	return s
}

func TestUpRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		says []string
	}{
		"the network without a token": {[]string{"--addr", "0.0.0.0:0"}, []string{"--api-token", "other machines"}},
		"every address":               {[]string{"--addr", ":0"}, []string{"--api-token"}},
		"a token on the command line": {[]string{"--api-token", sluice.APISecret}, []string{"--api-token takes @FILE", "SLUICE_API_TOKEN"}},
		"a missing token file":        {[]string{"--api-token", "@/nowhere/token"}, []string{"--api-token", "/nowhere/token"}},
		"no address":                  {[]string{"--addr", "nonsense"}, []string{"nonsense", "127.0.0.1:8090"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			sluice.Run(t, nil, append([]string{"up", "--data-dir", dir}, tc.args...)...).Expect(t, 2, tc.says...)
			if _, err := os.Stat(dir); err == nil {
				t.Error("the data folder was created")
			}
		})
	}
}

// TestUpStopsWhileFollowed ends a service that somebody listens to and that
// waits for quota: neither keeps it.
func TestUpStopsWhileFollowed(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1, Limits: sim.Limits{CoreLimit: 2, GraphQLLimit: 2}})
	s := sluice.Up(t, u, nil)
	login := u.Logins()[0]
	token := []string{"SLUICE_GITHUB_TOKEN=" + u.Token(login)}
	follow := sluice.Start(t, token, "collect", login, "--data-dir", s.Dir)
	follow.Says("quota until")
	began := time.Now()
	s.Signal(syscall.SIGTERM)
	s.Ends().Expect(t, 0)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	follow.Ends().Expect(t, 1, s.URL)
}
