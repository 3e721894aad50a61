package main_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
)

func TestCollect(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 2})
	dir := t.TempDir()
	s := decode[summaryJSON](t, sluice(t, nil, u.collect(dir)...).expect(t, 0).out)
	if s.Accounts != 2 || s.Runs["COMPLETED"] != 2 || s.Calls != u.Audit().Calls || s.Documents == 0 {
		t.Errorf("got %+v after %d calls", s, u.Audit().Calls)
	}
	for i, login := range u.Logins() {
		if r := s.Results[i]; r.Login != login || r.Statistics["login"] != login || r.Statistics["scores"] == nil {
			t.Errorf("got %+v", r)
		}
	}
	checkComplete(t, u, dir)
}

// TestCollectInPlainText reads what a person would read in a log.
func TestCollectInPlainText(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	login := u.Logins()[0]
	a := sluice(t, []string{"TERM=xterm-256color"}, u.collect(t.TempDir(), login, strings.ToUpper(login), "--output", "text")...).
		expect(t, 0, login+" run 1 RUNNING: ", login+" run 1 COMPLETED: ", "complete in")
	for _, text := range []string{login + ": COMPLETED, ", "\n  commits  ", "\n  pull requests ", "\n  scores  "} {
		if !strings.Contains(a.out, text) {
			t.Errorf("stdout does not say %q:\n%s", text, a.out)
		}
	}
	if n := strings.Count(a.out, "COMPLETED"); n != 1 {
		t.Errorf("a login given three times is reported %d times:\n%s", n, a.out)
	}
	for _, text := range []string{a.out, a.errOut} {
		if strings.ContainsAny(text, "\x1b\r") {
			t.Errorf("escape codes without a terminal: %q", text)
		}
	}
}

func TestCollectUnknownLogin(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 2})
	token := []string{"SLUICE_GITHUB_TOKEN=" + u.Token(u.Logins()[0])}
	args := []string{"collect", "no-such-user", u.Logins()[0], u.Logins()[1], "--data-dir", t.TempDir(), "--github-url", u.url, "--output", "json"}
	s := decode[summaryJSON](t, sluice(t, token, args...).expect(t, 1, "no-such-user", "FAILED", "no such user").out)
	if s.Runs["FAILED"] != 1 || s.Runs["COMPLETED"] != 2 || !strings.Contains(s.Results[0].Reason, "no-such-user") {
		t.Errorf("got %+v", s)
	}
}

func TestCollectWithABadTokenAndThenAGoodOne(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	login, dir := u.Logins()[0], t.TempDir()
	args := []string{"collect", login, "--data-dir", dir, "--github-url", u.url, "--output", "json"}
	a := sluice(t, []string{"SLUICE_GITHUB_TOKEN=ghp_expired"}, args...).
		expect(t, 4, "does not accept the token of "+login, "make a new one", "SLUICE_GITHUB_TOKEN", "--token-file")
	if r := decode[summaryJSON](t, a.out).Results[0]; !r.Paused || !strings.Contains(r.Reason, "token") {
		t.Errorf("got %+v", r)
	}
	accounts := sluice(t, nil, "account", "list", "--data-dir", dir).expect(t, 0)
	if !strings.Contains(accounts.out, "paused") || !strings.Contains(accounts.out, "make a new one") {
		t.Errorf("got %s", accounts.out)
	}
	a = sluice(t, []string{"SLUICE_GITHUB_TOKEN=" + u.Token(login)}, args...).expect(t, 0)
	if r := decode[summaryJSON](t, a.out).Results[0]; r.Run != 1 || r.Status != "COMPLETED" {
		t.Errorf("the run that waited did not go on: %+v", r)
	}
	checkComplete(t, u, dir)
}

// TestCollectRefusesBeforeAnyCall gives input that can be judged without the
// upstream: nothing is called and nothing is stored.
func TestCollectRefusesBeforeAnyCall(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	good := u.Logins()[0]
	badLine := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(badLine, []byte("# tokens\n"+good+" ghp_one ghp_two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := []string{"SLUICE_GITHUB_TOKEN=ghp_unused"}
	for name, tc := range map[string]struct {
		env  []string
		args []string
		says []string
	}{
		"no login":        {token, nil, []string{"at least one login"}},
		"no token":        {nil, []string{good}, []string{good, "SLUICE_GITHUB_TOKEN", "--token-file"}},
		"token of others": {nil, []string{good, "somebody", "--token-file", u.tokens}, []string{"somebody", "SLUICE_GITHUB_TOKEN"}},
		"no such file":    {nil, []string{good, "--token-file", "/nowhere/tokens"}, []string{"--token-file", "/nowhere/tokens"}},
		"odd line":        {nil, []string{good, "--token-file", badLine}, []string{badLine, "line 2", "a login and its token"}},
		"odd login":       {token, []string{good, "../../etc"}, []string{`"../../etc" is no GitHub login`}},
		"empty login":     {token, []string{good, ""}, []string{"is no GitHub login: it is empty"}},
		"control":         {token, []string{"a\x1b[2Jb"}, []string{"is no GitHub login"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			a := sluice(t, tc.env, append([]string{"collect", "--data-dir", dir, "--github-url", u.url}, tc.args...)...).expect(t, 2, tc.says...)
			if a.out != "" || strings.Contains(a.errOut, "\x1b") {
				t.Errorf("got %q and %q", a.out, a.errOut)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the data folder was created")
			}
		})
	}
	if calls := u.Audit().Calls; calls != 0 {
		t.Errorf("%d calls were made", calls)
	}
}

func TestCollectWaitsForTheNetwork(t *testing.T) {
	// An address at which nothing listens yet.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	world := sim.New(sim.Options{Seed: 3, Accounts: 1})
	login, dir := world.Logins()[0], t.TempDir()
	p := start(t, []string{"SLUICE_GITHUB_TOKEN=" + world.Token(login)},
		"collect", login, "--data-dir", dir, "--github-url", "http://"+address, "--output", "json")
	said := p.says("connection refused")
	if !strings.Contains(said, login+" run 1 RUNNING: 0/") || !strings.Contains(said, "trying again at") {
		t.Errorf("progress does not say what it waits for:\n%s", said)
	}

	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(world)
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	s := decode[summaryJSON](t, p.ends().expect(t, 0).out)
	if s.Runs["COMPLETED"] != 1 {
		t.Errorf("got %+v", s)
	}
	jobs := sluice(t, nil, "job", "list", "--status", "FAILED", "--data-dir", dir, "--output", "json").expect(t, 0)
	if got := decode[struct{ Jobs []any }](t, jobs.out); len(got.Jobs) != 0 {
		t.Errorf("waiting for the network used up retries: %s", jobs.out)
	}
}

func TestCollectInterrupted(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 2, Latency: sim.Latency{Fixed: 50 * time.Millisecond}})
	dir := t.TempDir()
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := start(t, nil, u.collect(dir, "--workers", "1")...)
		p.says("run 1 RUNNING")
		p.signal(sig)
		if a := p.ends().expect(t, 1, "finishing", "interrupted; the same command goes on"); a.out != "" {
			t.Errorf("an unfinished collection was summed up: %s", a.out)
		}
	}
	shown := sluice(t, nil, "run", "show", "1", "--data-dir", dir).expect(t, 0)
	if !strings.Contains(shown.out, "RUNNING") || !strings.Contains(shown.out, "nobody works on it now") {
		t.Errorf("got %s", shown.out)
	}
	s := decode[summaryJSON](t, sluice(t, nil, u.collect(dir)...).expect(t, 0).out)
	if s.Results[0].Run != 1 || s.Results[1].Run != 2 || s.Runs["COMPLETED"] != 2 {
		t.Errorf("got %+v", s)
	}
	// What ends gracefully repeats nothing.
	if audit := u.Audit(); audit.Repeated+audit.RepeatedQueries != 0 || audit.Calls != s.Calls {
		t.Errorf("%d calls in the runs, at the upstream %+v", s.Calls, audit)
	}
	checkComplete(t, u, dir)
}

// silentUpstream never answers; it tells of every request it got.
func silentUpstream(t *testing.T) (url string, called <-chan struct{}) {
	t.Helper()
	asked, over := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		close(over)
		server.Close()
	})
	return server.URL, asked
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	url, called := silentUpstream(t)
	p := start(t, []string{"SLUICE_GITHUB_TOKEN=ghp_x"}, "collect", "octocat", "--data-dir", t.TempDir(), "--github-url", url)
	<-called
	p.signal(syscall.SIGINT)
	p.says("once more to stop at once")
	began := time.Now()
	p.signal(syscall.SIGINT)
	p.ends().expect(t, 130)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestSecondProcessOnADataFolder(t *testing.T) {
	url, called := silentUpstream(t)
	dir := t.TempDir()
	token := []string{"SLUICE_GITHUB_TOKEN=ghp_x"}
	p := start(t, token, "collect", "octocat", "--data-dir", dir, "--github-url", url)
	<-called
	for _, args := range [][]string{
		{"collect", "octocat", "--github-url", url}, {"run", "list"}, {"up", "--addr", "127.0.0.1:0"}, {"demo", "--addr", "127.0.0.1:0"},
	} {
		sluice(t, token, append(args, "--data-dir", dir)...).
			expect(t, 1, "in use by process "+strconv.Itoa(p.cmd.Process.Pid)+" (sluice collect", "--data-dir")
	}
}
