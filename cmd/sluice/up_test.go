package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
)

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// addressIn returns the last address in a text.
func addressIn(t *testing.T, text string) string {
	t.Helper()
	all := address.FindAllString(text, -1)
	if len(all) == 0 {
		t.Fatalf("there is no address in %q", text)
	}
	return all[len(all)-1]
}

// service is a running `sluice up`.
type service struct {
	*program
	url, dir, token string
}

func up(t *testing.T, u *upstream, env []string, more ...string) *service {
	t.Helper()
	s := &service{dir: t.TempDir()}
	s.program = start(t, env, append([]string{"up", "--addr", "127.0.0.1:0", "--data-dir", s.dir, "--github-url", u.url, "--floor", "0"}, more...)...)
	s.url = addressIn(t, s.says("sluice serves http://"))
	return s
}

// call makes a request and returns the status and the body, which shows no
// secret.
func (s *service) call(method, path, body string) (int, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	checkNoSecret(s.t, method+" "+path, string(text))
	return response.StatusCode, string(text)
}

// get makes a request that must succeed.
func (s *service) get(path string) string {
	s.t.Helper()
	status, text := s.call(http.MethodGet, path, "")
	if status != http.StatusOK {
		s.t.Fatalf("GET %s: %d %s", path, status, text)
	}
	return text
}

// signup adds an account and returns its run.
func (s *service) signup(login, token string) int {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"source": "github", "login": login, "token": token})
	if err != nil {
		s.t.Fatal(err)
	}
	status, text := s.call(http.MethodPost, "/api/v1/accounts", string(body))
	if status != http.StatusCreated {
		s.t.Fatalf("signup: %d %s", status, text)
	}
	return decode[struct{ Run struct{ ID int } }](s.t, text).Run.ID
}

// completes follows a run until it has ended.
func (s *service) completes(run int) {
	s.t.Helper()
	status, stream := s.call(http.MethodGet, fmt.Sprintf("/api/v1/runs/%d/events", run), "")
	if status != http.StatusOK || !strings.Contains(stream, `"COMPLETED"`) {
		s.t.Fatalf("run %d: %d %s", run, status, stream)
	}
}

func TestUp(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 2})
	s := up(t, u, nil, "--log-level", "debug")
	for path, want := range map[string]string{"/livez": "", "/readyz": "", "/metrics": "sluice_", "/api/openapi.json": `"3.1`} {
		if text := s.get(path); !strings.Contains(text, want) {
			t.Errorf("GET %s: %s", path, text)
		}
	}
	login := u.Logins()[0]
	run := s.signup(login, u.Token(login))
	s.completes(run)
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
		if text := s.get(path); !strings.Contains(text, want) {
			t.Errorf("GET %s does not show %s: %s", path, want, text)
		}
	}
	if status, text := s.call(http.MethodPost, "/api/v1/accounts", `{"source":"github","login":"a b","token":"ghp_never_shown"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("got %d %s", status, text)
	}
	if status, text := s.call(http.MethodPost, "/api/v1/accounts", `{"source":"github","login":"ab","token":["ghp_never_shown"]}`); status != http.StatusUnprocessableEntity {
		t.Errorf("got %d %s", status, text)
	}
	s.signal(syscall.SIGTERM)
	if a := s.ends().expect(t, 0, "finishing"); a.out != "" {
		t.Errorf("messages on stdout: %s", a.out)
	}
	checkFolderKeepsSecrets(t, s.dir, u.Token(login))
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
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 2})
	s := up(t, u, nil)
	logins := u.Logins()
	s.completes(s.signup(logins[0], u.Token(logins[0])))
	u.FailNext(sim.PathContains("/events"), 1, sim.Fault{Status: http.StatusGone, Body: `{"message":"gone"}`})
	failing := s.signup(logins[1], u.Token(logins[1]))
	s.completes(failing)

	t.Run("by data folder", func(t *testing.T) { operate(t, logins, "--data-dir", s.dir) })
	t.Run("by address", func(t *testing.T) { operate(t, logins, "--server", s.url, "--data-dir", "/nowhere") })

	// A failed job that is retried completes its run again.
	jobs := decode[struct{ Jobs []struct{ ID int } }](t, sluice(t, nil, "job", "list", "--status", "failed", "--server", s.url, "--output", "json").out)
	if len(jobs.Jobs) != 1 {
		t.Fatalf("got %+v", jobs)
	}
	sluice(t, nil, "job", "retry", fmt.Sprint(jobs.Jobs[0].ID), "--server", s.url).expect(t, 0)
	s.completes(failing)
	if text := s.get(fmt.Sprintf("/api/v1/runs/%d", failing)); !strings.Contains(text, `"failed_jobs":0`) {
		t.Errorf("after the retry: %s", text)
	}
	sluice(t, nil, "job", "retry", fmt.Sprint(jobs.Jobs[0].ID), "--server", s.url).expect(t, 1, "SUCCEEDED")

	s.signal(syscall.SIGTERM)
	s.ends().expect(t, 0)
	t.Run("without a service", func(t *testing.T) { operate(t, logins, "--data-dir", s.dir) })
	sluice(t, nil, "run", "list", "--server", s.url).expect(t, 1, "no service listens", "sluice up")
	sluice(t, nil, "run", "list", "--data-dir", filepath.Join(s.dir, "elsewhere")).expect(t, 1, "no data folder", "--data-dir")
}

// operate reads and changes what two collected accounts left.
func operate(t *testing.T, logins []string, where ...string) {
	run := func(code int, args ...string) answer {
		t.Helper()
		return sluice(t, nil, append(args, where...)...).expect(t, code)
	}
	shows := func(want string, args ...string) {
		t.Helper()
		if a := run(0, args...); !strings.Contains(a.out, want) {
			t.Errorf("%v does not show %q: %s", args, want, a.out)
		}
	}
	shows(logins[0], "run", "list")
	shows("COMPLETED", "run", "list", "--account", logins[1], "--limit", "1")
	shows("0 gaps", "run", "show", "1")
	shows("USER_PROFILE", "run", "show", "1", "--ledger")
	shows("job 1 of run 1: ", "job", "show", "1")
	shows("SUCCEEDED", "job", "list", "--run", "1")
	list := decode[struct{ Runs []struct{ ID int } }](t, run(0, "run", "list", "--output", "json").out)
	if len(list.Runs) != 2 || list.Runs[0].ID != 2 {
		t.Errorf("got %+v", list)
	}
	detail := decode[struct {
		Status string
		Ledger []any
	}](t, run(0, "run", "show", "1", "--ledger", "--output", "json").out)
	if detail.Status != "COMPLETED" || len(detail.Ledger) == 0 {
		t.Errorf("got %+v", detail)
	}
	if jobs := decode[struct{ Jobs []any }](t, run(0, "job", "list", "--limit", "2", "--output", "json").out); len(jobs.Jobs) != 2 {
		t.Errorf("got %+v", jobs)
	}
	shows("is paused", "account", "pause", logins[0], "--reason", "on holiday")
	shows("on holiday", "account", "list")
	shows("is active", "account", "resume", logins[0])
	if a := run(1, "run", "cancel", "1"); !strings.Contains(a.errOut, "COMPLETED") {
		t.Errorf("got %s", a.errOut)
	}
	for _, args := range [][]string{{"run", "show", "99"}, {"job", "show", "9999"}, {"account", "pause", "nobody"}, {"run", "cancel", "99"}} {
		if a := run(1, args...); !strings.Contains(a.errOut, "there is no") || a.out != "" {
			t.Errorf("%v: %+v", args, a)
		}
	}
}

func TestCancelARunThatWaits(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 1, Limits: sim.Limits{CoreLimit: 2, GraphQLLimit: 2}})
	s := up(t, u, nil)
	login := u.Logins()[0]
	run := fmt.Sprint(s.signup(login, u.Token(login)))
	// The stream's first wait tells that the ration is spent.
	follow := start(t, []string{"SLUICE_GITHUB_TOKEN=" + u.Token(login)}, "collect", login, "--server", s.url)
	follow.says("quota until")
	a := sluice(t, nil, "run", "show", run, "--server", s.url).expect(t, 0)
	if !strings.Contains(a.out, "quota until") || !strings.Contains(a.out, " gap") {
		t.Errorf("got %s", a.out)
	}
	if a := sluice(t, nil, "run", "list", "--active", "--server", s.url); !strings.Contains(a.out, "RUNNING") {
		t.Errorf("got %s", a.out)
	}
	a = sluice(t, nil, "run", "cancel", run, "--reason", "not needed", "--server", s.url).expect(t, 0)
	if !strings.Contains(a.out, "CANCELED") {
		t.Errorf("got %s", a.out)
	}
	follow.ends().expect(t, 1, "CANCELED", "not needed")
	if audit := u.Audit(); audit.Violations != 0 || audit.Calls > 4 {
		t.Errorf("who signs up again gets no second ration: %+v", audit)
	}
}

func TestUpWithAToken(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	file := filepath.Join(t.TempDir(), "api-token")
	if err := os.WriteFile(file, []byte(apiSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"SLUICE_API_TOKEN=" + apiSecret}
	for name, s := range map[string]*service{
		"environment": up(t, u, env),
		"file":        up(t, u, nil, "--api-token", "@"+file),
		// Any address may be served with a token.
		"everywhere": everywhere(t, u, env),
	} {
		t.Run(name, func(t *testing.T) {
			if status, text := s.call(http.MethodGet, "/api/v1/runs", ""); status != http.StatusUnauthorized {
				t.Errorf("without the token: %d %s", status, text)
			}
			s.token = "wrong"
			if status, _ := s.call(http.MethodGet, "/api/v1/runs", ""); status != http.StatusUnauthorized {
				t.Errorf("with a wrong token: %d", status)
			}
			s.token = apiSecret
			s.get("/api/v1/runs")
			sluice(t, nil, "run", "list", "--server", s.url).expect(t, 4, "API token")
			sluice(t, env, "run", "list", "--server", s.url).expect(t, 0)
			sluice(t, nil, "run", "list", "--data-dir", s.dir, "--api-token", "@"+file).expect(t, 0)
			s.signal(syscall.SIGTERM)
			s.ends().expect(t, 0)
		})
	}
}

func everywhere(t *testing.T, u *upstream, env []string) *service {
	t.Helper()
	s := &service{dir: t.TempDir()}
	s.program = start(t, env, "up", "--addr", "0.0.0.0:0", "--data-dir", s.dir, "--github-url", u.url)
	said := s.says("sluice serves http://")
	port := regexp.MustCompile(`:(\d+)/api`).FindStringSubmatch(said)
	if port == nil {
		t.Fatalf("there is no port in %q", said)
	}
	s.url = "http://127.0.0.1:" + port[1]
	return s
}

func TestUpRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		says []string
	}{
		"the network without a token": {[]string{"--addr", "0.0.0.0:0"}, []string{"--api-token", "other machines"}},
		"every address":               {[]string{"--addr", ":0"}, []string{"--api-token"}},
		"a token on the command line": {[]string{"--api-token", apiSecret}, []string{"--api-token takes @FILE", "SLUICE_API_TOKEN"}},
		"a missing token file":        {[]string{"--api-token", "@/nowhere/token"}, []string{"--api-token", "/nowhere/token"}},
		"no address":                  {[]string{"--addr", "nonsense"}, []string{"nonsense", "127.0.0.1:8090"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			sluice(t, nil, append([]string{"up", "--data-dir", dir}, tc.args...)...).expect(t, 2, tc.says...)
			if _, err := os.Stat(dir); err == nil {
				t.Error("the data folder was created")
			}
		})
	}
}

// TestUpStopsWhileFollowed ends a service that somebody listens to and that
// waits for quota: neither keeps it.
func TestUpStopsWhileFollowed(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 1, Limits: sim.Limits{CoreLimit: 2, GraphQLLimit: 2}})
	s := up(t, u, nil)
	login := u.Logins()[0]
	token := []string{"SLUICE_GITHUB_TOKEN=" + u.Token(login)}
	follow := start(t, token, "collect", login, "--data-dir", s.dir)
	follow.says("quota until")
	began := time.Now()
	s.signal(syscall.SIGTERM)
	s.ends().expect(t, 0)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	follow.ends().expect(t, 1, s.url)
}
