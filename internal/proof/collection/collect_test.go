package collection_test

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
	"sluice/internal/source/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

func TestCollect(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2})
	dir := t.TempDir()
	s := sluice.Decode[sluice.Summary](t, sluice.Run(t, nil, u.Collect(dir)...).Expect(t, 0).Out)
	if s.Accounts != 2 || s.Runs["COMPLETED"] != 2 || s.Calls != u.Audit().Calls || s.Documents == 0 {
		t.Errorf("got %+v after %d calls", s, u.Audit().Calls)
	}
	for i, login := range u.Logins() {
		if r := s.Results[i]; r.Login != login || r.Statistics["login"] != login || r.Statistics["scores"] == nil {
			t.Errorf("got %+v", r)
		}
	}
	sluice.CheckComplete(t, u, dir)
}

// TestCollectTargets collects an organisation and a single repository with everything
// that can be asked for, by a file of targets and with one token for both.
func TestCollectTargets(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 12, Accounts: 3, Organizations: 1})
	org := u.Organizations()[0]
	lead := u.Lead(org)
	repo := u.Repos(lead)[0]
	targets, dir := filepath.Join(t.TempDir(), "targets"), t.TempDir()
	if err := os.WriteFile(targets, []byte("# what we care for\n"+org+"\n"+repo.Owner+"/"+repo.Name+" # ours\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := []string{"SLUICE_GITHUB_TOKEN=" + u.Token(lead)}
	args := []string{"collect", "--targets", targets, "--resources", "all", "--data-dir", dir, "--github-url", u.URL, "--output", "json"}
	priced := sluice.Run(t, token, append(args, "--dry-run")...).Expect(t, 0)
	for _, job := range []string{"REPO_COMMENTS", "REPO_REVIEWS", "REPO_RELEASES", "REPO_LABELS", "ORG_MEMBERS"} {
		if !strings.Contains(priced.Out, job) {
			t.Errorf("the dry run does not price %s: %s", job, priced.Out)
		}
	}
	s := sluice.Decode[sluice.Summary](t, sluice.Run(t, token, args...).Expect(t, 0).Out)
	if s.Accounts != 2 || s.Runs["COMPLETED"] != 2 {
		t.Errorf("got %+v", s)
	}
	sluice.CheckTargets(t, u, dir, []string{org, repo.Owner + "/" + repo.Name}, github.ResourceKinds()...)
	list := sluice.Run(t, nil, "account", "list", "--data-dir", dir).Expect(t, 0)
	shown := sluice.Run(t, nil, "account", "show", repo.Owner+"/"+repo.Name, "--data-dir", dir).Expect(t, 0)
	if !strings.Contains(list.Out, "organization") || !strings.Contains(list.Out, "repository") || !strings.Contains(shown.Out, "it is a repository") {
		t.Errorf("got %s%s", list.Out, shown.Out)
	}
	before := u.Audit().Calls
	sluice.Run(t, token, args...).Expect(t, 0)
	if again := u.Audit(); again.Violations != 0 || before == again.Calls {
		t.Errorf("%d violations, %d calls and then %d", again.Violations, before, again.Calls)
	}
	sluice.CheckTargets(t, u, dir, []string{org, repo.Owner + "/" + repo.Name}, github.ResourceKinds()...)
}

// TestCollectInPlainText reads what a person would read in a log.
func TestCollectInPlainText(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	login := u.Logins()[0]
	a := sluice.Run(t, []string{"TERM=xterm-256color"}, u.Collect(t.TempDir(), login, strings.ToUpper(login), "--output", "text")...).
		Expect(t, 0, login+" run 1 RUNNING: ", login+" run 1 COMPLETED: ", "ended in")
	for _, text := range []string{login + ": COMPLETED, ", "\n  commits  ", "\n  pull requests ", "\n  scores  "} {
		if !strings.Contains(a.Out, text) {
			t.Errorf("stdout does not say %q:\n%s", text, a.Out)
		}
	}
	if n := strings.Count(a.Out, "COMPLETED"); n != 1 {
		t.Errorf("a login given three times is reported %d times:\n%s", n, a.Out)
	}
	for _, text := range []string{a.Out, a.Err} {
		if strings.ContainsAny(text, "\x1b\r") {
			t.Errorf("escape codes without a terminal: %q", text)
		}
	}
}

func TestCollectUnknownLogin(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2})
	token := []string{"SLUICE_GITHUB_TOKEN=" + u.Token(u.Logins()[0])}
	args := []string{"collect", "no-such-user", u.Logins()[0], u.Logins()[1], "--data-dir", t.TempDir(), "--github-url", u.URL, "--output", "json"}
	s := sluice.Decode[sluice.Summary](t, sluice.Run(t, token, args...).Expect(t, 1, "no-such-user", "FAILED", "no such user").Out)
	if s.Runs["FAILED"] != 1 || s.Runs["COMPLETED"] != 2 || !strings.Contains(s.Results[0].Reason, "no-such-user") {
		t.Errorf("got %+v", s)
	}
}

func TestCollectWithABadTokenAndThenAGoodOne(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	login, dir := u.Logins()[0], t.TempDir()
	args := []string{"collect", login, "--data-dir", dir, "--github-url", u.URL, "--output", "json"}
	a := sluice.Run(t, []string{"SLUICE_GITHUB_TOKEN=ghp_expired"}, args...).
		Expect(t, 4, "does not accept the token of "+login, "make a new one", "SLUICE_GITHUB_TOKEN", "--token-file")
	if r := sluice.Decode[sluice.Summary](t, a.Out).Results[0]; !r.Paused || !strings.Contains(r.Reason, "token") {
		t.Errorf("got %+v", r)
	}
	accounts := sluice.Run(t, nil, "account", "list", "--data-dir", dir).Expect(t, 0)
	if !strings.Contains(accounts.Out, "paused") || !strings.Contains(accounts.Out, "make a new one") {
		t.Errorf("got %s", accounts.Out)
	}
	a = sluice.Run(t, []string{"SLUICE_GITHUB_TOKEN=" + u.Token(login)}, args...).Expect(t, 0)
	if r := sluice.Decode[sluice.Summary](t, a.Out).Results[0]; r.Run != 1 || r.Status != "COMPLETED" {
		t.Errorf("the run that waited did not go on: %+v", r)
	}
	sluice.CheckComplete(t, u, dir)
}

// TestCollectRefusesBeforeAnyCall gives input that can be judged without the
// upstream: nothing is called and nothing is stored.
func TestCollectRefusesBeforeAnyCall(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
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
		"no login":        {token, nil, []string{"at least one target"}},
		"no token":        {nil, []string{good}, []string{good, "SLUICE_GITHUB_TOKEN", "--token-file"}},
		"token of others": {nil, []string{good, "somebody", "--token-file", u.Tokens}, []string{"somebody", "SLUICE_GITHUB_TOKEN"}},
		"no such file":    {nil, []string{good, "--token-file", "/nowhere/tokens"}, []string{"--token-file", "/nowhere/tokens"}},
		"odd line":        {nil, []string{good, "--token-file", badLine}, []string{badLine, "line 2", "a login and its token"}},
		"odd login":       {token, []string{good, "../../etc"}, []string{`"../../etc"`, "is not a GitHub login"}},
		"empty login":     {token, []string{good, ""}, []string{"is not a GitHub login: it is empty"}},
		"control":         {token, []string{"a\x1b[2Jb"}, []string{"is not a GitHub login"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			a := sluice.Run(t, tc.env, append([]string{"collect", "--data-dir", dir, "--github-url", u.URL}, tc.args...)...).Expect(t, 2, tc.says...)
			if a.Out != "" || strings.Contains(a.Err, "\x1b") {
				t.Errorf("got %q and %q", a.Out, a.Err)
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
	address := testkit.FreeAddress(t) // nothing listens there yet
	world := sim.New(sim.Options{Seed: 3, Accounts: 1})
	login, dir := world.Logins()[0], t.TempDir()
	p := sluice.Start(t, []string{"SLUICE_GITHUB_TOKEN=" + world.Token(login)},
		"collect", login, "--data-dir", dir, "--github-url", "http://"+address, "--output", "json")
	said := p.Says("connection refused")
	if !strings.Contains(said, login+" run 1 RUNNING: 0/") || !strings.Contains(said, "trying again at") {
		t.Errorf("progress does not say what it waits for:\n%s", said)
	}

	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(world)
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	s := sluice.Decode[sluice.Summary](t, p.Ends().Expect(t, 0).Out)
	if s.Runs["COMPLETED"] != 1 {
		t.Errorf("got %+v", s)
	}
	jobs := sluice.Run(t, nil, "job", "list", "--status", "FAILED", "--data-dir", dir, "--output", "json").Expect(t, 0)
	if got := sluice.Decode[struct{ Items []any }](t, jobs.Out); len(got.Items) != 0 {
		t.Errorf("waiting for the network used up retries: %s", jobs.Out)
	}
}

func TestCollectInterrupted(t *testing.T) {
	// A run takes much longer than a signal does, on a busy machine too.
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2, Latency: sim.Latency{Fixed: 150 * time.Millisecond}})
	dir := t.TempDir()
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := sluice.Start(t, nil, u.Collect(dir, "--workers", "1")...)
		p.Says("run 1 RUNNING")
		p.Signal(sig)
		if a := p.Ends().Expect(t, 130, "finishing", "interrupted; the same command resumes"); a.Out != "" {
			t.Errorf("an unfinished collection was summed up: %s", a.Out)
		}
	}
	shown := sluice.Run(t, nil, "run", "show", "1", "--data-dir", dir).Expect(t, 0)
	if !strings.Contains(shown.Out, "RUNNING") || !strings.Contains(shown.Out, "nothing works on it now") {
		t.Errorf("got %s", shown.Out)
	}
	s := sluice.Decode[sluice.Summary](t, sluice.Run(t, nil, u.Collect(dir)...).Expect(t, 0).Out)
	if s.Results[0].Run != 1 || s.Results[1].Run != 2 || s.Runs["COMPLETED"] != 2 {
		t.Errorf("got %+v", s)
	}
	// What ends gracefully repeats nothing. A call is counted before it is made:
	// each signal may have come in between.
	if audit := u.Audit(); audit.Repeated+audit.RepeatedQueries != 0 || audit.Calls > s.Calls || audit.Calls < s.Calls-2 {
		t.Errorf("%d calls in the runs, at the upstream %+v", s.Calls, audit)
	}
	sluice.CheckComplete(t, u, dir)
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
	p := sluice.Start(t, []string{"SLUICE_GITHUB_TOKEN=ghp_x"}, "collect", "octocat", "--data-dir", t.TempDir(), "--github-url", url)
	<-called
	p.Signal(syscall.SIGINT)
	p.Says("interrupt again to stop at once")
	began := time.Now()
	p.Signal(syscall.SIGINT)
	p.Ends().Expect(t, 130)
	if took := time.Since(began); took > 25*time.Second { // an upstream is waited for half a minute
		t.Errorf("it took %s", took)
	}
}

func TestSecondProcessOnADataFolder(t *testing.T) {
	url, called := silentUpstream(t)
	dir := t.TempDir()
	token := []string{"SLUICE_GITHUB_TOKEN=ghp_x"}
	p := sluice.Start(t, token, "collect", "octocat", "--no-check", "--data-dir", dir, "--github-url", url)
	<-called
	for _, args := range [][]string{{"up", "--addr", "127.0.0.1:0"}, {"demo", "--addr", "127.0.0.1:0"}} {
		sluice.Run(t, token, append(args, "--data-dir", dir)...).
			Expect(t, 1, "in use by process "+strconv.Itoa(p.Cmd.Process.Pid)+" (sluice collect", "--data-dir")
	}
	// It can be asked, and told to collect, but not with settings of others.
	for _, dry := range [][]string{nil, {"--dry-run"}} {
		args := append([]string{"collect", "octocat", "--data-dir", dir, "--workers", "3", "--github-url", url}, dry...)
		sluice.Run(t, token, args...).Expect(t, 2, "--github-url, --workers cannot be honoured", dir, "start it with them")
	}
	if a := sluice.Run(t, nil, "run", "list", "--data-dir", dir).Expect(t, 0); !strings.Contains(a.Out, "RUNNING") {
		t.Errorf("the runs are %s", a.Out)
	}
	sluice.Run(t, nil, "account", "pause", "octocat", "--data-dir", dir).Expect(t, 0)
}
