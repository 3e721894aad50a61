package watching_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	githubsim "sluice/internal/simulator/github"
	maplesim "sluice/internal/simulator/maplestory"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

// lowered are thresholds that only a large installation crosses, and what is
// crossed here; the numbers themselves are promtool's to try.
var lowered = map[string][2]string{
	"SluiceManyActiveRuns":      {"> 100", "> 3"},
	"SluiceManyPendingJobs":     {"> 1000", "> 3"},
	"SluiceJobsSlow":            {"> 30", "> 1"},
	"SluiceLeasedBacklog":       {"> 100", "> 1"},
	"SluiceReadyBacklog":        {"> 50", "> 1"},
	"SluiceDueBacklog":          {"> 500", "> 0"},
	"SluiceOwnersParked":        {"> 10", "> 0"},
	"SluiceJobsReclaimed":       {"> 0.1", "> 0"},
	"SluiceStatisticsRetrying":  {"> 20", "> 0"},
	"SluiceJobsLate":            {"> 30", "> 0.5"},
	"SluiceHighLag":             {"> 1000", "> 20"},
	"SluiceHighLagCritical":     {"> 5000", "> 40"},
	"SluiceLowLag":              {"> 1800", "> 1"},
	"SluiceCoalescingConflicts": {"> 100", "> 0"},
}

// elsewhere are alerts that nothing broken here can fire: one installation keeps its
// own rate. Two that share a key do not (twoInstallations).
var elsewhere = []string{"SluiceRateExceeded"}

// easily lowers the thresholds.
func easily(t *testing.T, text string) string {
	t.Helper()
	for name, threshold := range lowered {
		before, rest, found := strings.Cut(text, "alert: "+name+"\n")
		rule, after, _ := strings.Cut(rest, "- alert:")
		if !found || !strings.Contains(rule, threshold[0]) {
			t.Fatalf("%s is not %q any more", name, threshold[0])
		}
		rule = strings.Replace(rule, threshold[0], threshold[1], 1)
		text = before + "alert: " + name + "\n" + rule + "- alert:" + after
	}
	return text
}

// broken is a world that can be broken in every way.
type broken struct {
	*world
	githubs, games, receiver *valve
	// api is another process, which only answers.
	api *sluice.Service
	// args and env start further processes.
	args, env []string
	accounts  int
}

func newBroken(t *testing.T) *broken {
	t.Helper()
	b := &broken{world: &world{T: t, github: sluice.NewUpstream(t, githubsim.Options{Seed: 3, Accounts: 24}), redis: testkit.StartRedis(t), sql: testkit.StartSQL(t), alerts: newAlerts(t)}}
	b.game = maplesim.New(maplesim.Options{Seed: 5, Characters: 3000, BodySize: 2000})
	var githubURL, gameURL, receiverURL string
	b.githubs, githubURL = newValve(t, b.github.Server)
	b.games, gameURL = newValve(t, b.game)
	b.receiver, receiverURL = newValve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	hook := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(hook, []byte(receiverURL), 0o600); err != nil {
		t.Fatal(err)
	}
	const token = "a-token-of-the-api-for-tests"
	b.env = []string{
		"SLUICE_STATE=" + b.sql.URL(), "SLUICE_REDIS=" + b.redis.URL(), "SLUICE_KEY_FILE=" + sluice.KeyFile(t),
		"SLUICE_MAPLESTORY_KEY=" + maplesim.DefaultKey, "SLUICE_API_TOKEN=" + token, "SLUICE_WEBHOOK_SECRET=a plain secret of enough bytes",
		"SLUICE_NOTIFY=[{name: chat, type: slack, url: '@" + hook + "', allow_private: true, every: 1s}]",
	}
	b.args = []string{
		"up", "--addr", "127.0.0.1:0", "--github-url", githubURL, "--floor", "0", "--maplestory-url", gameURL, "--prefetch", "0",
		"--maplestory-per-second", "50", "--workers", "2", "--lease", "2s", "--webhook-allow-private",
		"--sink", "down=mysql://nobody@127.0.0.1:1/nowhere",
	}
	b.Service = b.process("api,worker,scheduler,refresh", token)
	b.api = b.process("api", token)
	b.prometheus = testkit.StartPrometheus(t, strings.Replace(b.configuration(), "targets: [", fmt.Sprintf("targets: [%q, ", strings.TrimPrefix(b.api.URL, "http://")), 1),
		map[string]string{"rules.yml": easily(t, hasty(readFile(t, rulesFile))), "token": token})
	return b
}

// process starts one more.
func (b *broken) process(roles, token string) *sluice.Service {
	b.Helper()
	s := &sluice.Service{Dir: b.TempDir(), Token: token, Program: sluice.Start(b.T, b.env, append(b.args, "--roles", roles)...)}
	s.URL = sluice.AddressIn(b.T, s.Says("Ctrl-C stops"))
	return s
}

// signup signs so many more accounts up, and returns their runs.
func (b *broken) signup(n int) (runs []int) {
	b.Helper()
	for _, login := range b.github.Logins()[b.accounts : b.accounts+n] {
		runs = append(runs, b.Signup(login, b.github.Token(login)))
	}
	b.accounts += n
	return runs
}

// meanwhile does something again and again until alerts have fired.
func (b *broken) meanwhile(do func(), names ...string) {
	b.Helper()
	ended := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-time.After(100 * time.Millisecond):
				do()
			}
		}
	}()
	defer func() { close(ended); <-done }()
	b.fires(names...)
}

func (b *broken) exec(statements ...string) {
	b.Helper()
	db := testkit.OpenSQL(b.T, b.sql.URL())
	for _, statement := range statements {
		if _, err := db.ExecContext(b.Context(), statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
}

// redisSays sends Redis a command.
func (b *broken) redisSays(command string) {
	b.Helper()
	conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", strings.TrimPrefix(b.redis.URL(), "redis://"))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	answer := make([]byte, 100)
	if _, err = conn.Write([]byte(command + "\r\n")); err == nil {
		_, err = conn.Read(answer)
	}
	if err != nil || answer[0] != '+' {
		b.Fatalf("%s: %s, %v", command, answer, err)
	}
}

// post makes a request that must not be refused.
func (b *broken) post(path, body string) string {
	b.Helper()
	status, text := b.Call(http.MethodPost, path, body)
	if status >= http.StatusBadRequest {
		b.Fatalf("POST %s: %d %s", path, status, text)
	}
	return text
}

// everyAlert breaks everything in turn until each alert has fired, but for those
// that cannot. It takes some minutes: a breaker, a lease and a backoff are waited
// for as they are.
func everyAlert(t *testing.T) {
	b := newBroken(t)
	b.breaksCollections()
	b.breaksRefreshes()
	b.breaksTheRest()
	b.breaksServers()
	for _, r := range rules(t) {
		if fired := b.alerts.has(r.Alert); fired == slices.Contains(elsewhere, r.Alert) {
			t.Errorf("%s has fired: %v", r.Alert, fired)
		}
	}
}

// breaksCollections: an upstream that hangs, is slow, fails and refuses; a worker
// that dies; statistics that cannot be computed.
func (b *broken) breaksCollections() {
	b.githubs.close()
	b.signup(6)
	b.fires("SluiceSinkBehind")
	b.fires("SluiceManyActiveRuns", "SluiceManyPendingJobs", "SluiceLeasedBacklog", "SluiceReadyBacklog")
	b.githubs.slow(1500 * time.Millisecond)
	b.fires("SluiceJobsSlow")
	b.githubs.say(http.StatusBadGateway)
	b.fires("SluiceDueBacklog", "SluiceUpstreamRefuses")
	b.githubs.slow(1500 * time.Millisecond)
	b.fires("SluiceJobsLate")
	b.githubs.say(http.StatusUnprocessableEntity)
	b.fires("SluiceJobsFail")
	b.githubs.say(http.StatusForbidden, "Retry-After", "60")
	b.signup(2)
	b.fires("SluiceOwnersParked")
	b.githubs.open()
	login := b.github.Logins()[b.accounts]
	b.accounts++
	b.Signup(login, strings.Repeat("0", len(b.github.Token(login))))
	b.fires("SluiceAccountPaused")

	b.exec("ALTER TABLE statistics RENAME TO statistics_away")
	b.signup(1)
	b.fires("SluiceStatisticsRetrying")
	b.exec("ALTER TABLE statistics_away RENAME TO statistics")
	// As the engine leaves it, after two hours.
	run := b.signup(1)[0]
	b.Completes(run)
	b.exec(fmt.Sprintf("UPDATE run SET status = 6, reason = 'statistics could not be computed: out of memory' WHERE id = %d", run))
	b.fires("SluiceStatisticsGivenUp", "SluiceDeadLettersWait")
	if text := b.post("/api/v1/dlq/redrive", `{"why":"STATISTICS"}`); !strings.Contains(text, `"letters":1`) {
		b.Errorf("redriven are %s", text)
	}
	b.Completes(run)

	b.githubs.close()
	worker := b.process("worker", b.Token)
	b.signup(4)
	// Each has as many as it has workers.
	b.until(func() bool { return strings.Contains(b.Get("/metrics"), "\nsluice_dispatch_leased 4\n") })
	worker.Signal(syscall.SIGKILL)
	b.fires("SluiceJobsReclaimed")
	b.githubs.open()
}

// breaksRefreshes: an upstream that hangs, is too slow for what is asked for,
// refuses and fails; a log that takes nothing; a result that comes too late.
func (b *broken) breaksRefreshes() {
	b.refresh(b.characters(0, 5)...)
	b.games.close()
	b.refresh(b.characters(100, 1000)...)
	b.post("/api/v1/refresh", fmt.Sprintf(`{"source":"maplestory","priority":"LOW","keys":["%s"]}`, strings.Join(b.characters(1200, 500), `","`)))
	b.fires("SluiceHighLag", "SluiceHighLagCritical", "SluiceLowLag")
	b.games.slow(4 * time.Second)
	b.fires("SluiceRefreshSlow", "SluiceHighRejected")
	b.games.open()
	b.until(func() bool { return strings.Contains(b.Get("/metrics"), "\nsluice_refresh_lag{priority=\"HIGH\"} 0\n") })
	b.games.close()
	b.refresh(b.characters(0, 5)...)
	b.until(func() bool { return b.games.holds() > 0 })
	// Another process was quicker, as far as the store knows.
	b.exec("UPDATE snapshot SET version = version + 1000000000000, seen_version = seen_version + 1000000000000 WHERE version > 0")
	b.games.open()
	b.fires("SluiceCoalescingConflicts")

	b.refresh(unknown(1000, 200)...)
	b.fires("SluiceDeadLetters", "SluiceRefreshErrors")
	b.redisSays("ACL SETUSER default -xadd")
	publish := func() bool {
		status, _ := b.Call(http.MethodPost, "/api/v1/refresh", fmt.Sprintf(`{"source":"maplestory","keys":[%q]}`, b.game.Ocid(2500)))
		return status == http.StatusAccepted
	}
	b.meanwhile(func() { publish() }, "SluicePublishFails")
	b.redisSays("ACL SETUSER default +xadd")
	b.until(publish) // Redis is left alone for a while
	b.games.say(http.StatusInternalServerError)
	b.refresh(b.characters(2600, 40)...)
	b.fires("SluiceBreakerOpen")
	b.games.open()
}

// breaksTheRest: timers that are late or not taken, notifications that are not
// taken, tokens that are wrong.
func (b *broken) breaksTheRest() {
	b.receiver.say(http.StatusInternalServerError)
	login := b.github.Logins()[b.accounts]
	b.accounts++
	b.Signup(login, strings.Repeat("0", len(b.github.Token(login))))
	b.fires("SluiceNotificationsFail")
	b.receiver.say(http.StatusGone)
	hook := strings.TrimSpace(readFile(b.T, hookOf(b.env)))
	b.post("/api/v1/timers", fmt.Sprintf(`{"id":"gone","in":"1ms","webhook":%q}`, hook))
	b.fires("SluiceTimerDeliveriesDead", "SluiceNotificationsDead")
	b.receiver.open()

	b.post("/api/v1/timers", `{"id":"late","in":"500ms"}`)
	b.Signal(syscall.SIGSTOP)
	wait(3 * time.Second)
	b.Signal(syscall.SIGCONT)
	b.fires("SluiceTimersLate", "SluiceTimersSlow")

	// From another address: whoever guesses is made to wait, and Prometheus is not
	// to wait with him.
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	stranger := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	b.meanwhile(func() {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, b.api.URL+"/api/v1/runs", http.NoBody)
		if err != nil {
			b.Error(err)
			return
		}
		request.Header.Set("Authorization", "Bearer a-token-that-nobody-has")
		if response, err := stranger.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}, "SluiceWrongTokens")
}

// breaksServers: the database and Redis are slow, then gone; then the process is.
func (b *broken) breaksServers() {
	b.githubs.slow(200 * time.Millisecond)
	b.signup(2)
	b.meanwhile(func() {
		b.redis.Pause()
		wait(80 * time.Millisecond)
		b.redis.Continue()
	}, "SluiceRedisSlow")
	b.meanwhile(func() {
		// A machine with nothing else to do makes many quick statements in a pause:
		// they must be fewer than twenty for each slow one.
		for range 5 {
			b.sql.Pause()
			wait(1500 * time.Millisecond)
			b.sql.Continue()
			wait(5 * time.Millisecond)
		}
	}, "SluiceStoreSlow")
	// A call is under way whose result cannot be stored.
	b.githubs.close()
	b.signup(1)
	b.until(func() bool { return b.githubs.holds() > 0 })
	b.sql.Kill()
	b.githubs.open()
	b.meanwhile(func() { _, _ = b.Call(http.MethodGet, "/api/v1/runs", "") }, "SluiceStoreUnreachable", "SluiceAPIErrors", "SluiceStoreFails")
	b.sql.Start()
	b.until(func() bool { status, _ := b.Call(http.MethodGet, "/readyz", ""); return status == http.StatusOK })
	b.githubs.say(http.StatusBadGateway)
	b.signup(2)
	b.Signal(syscall.SIGKILL)
	// Without its two minutes the rule may have met a moment in which nobody had taken
	// anything yet.
	b.alerts.forget("SluiceDueNotServed")
	b.fires("SluiceDown", "SluiceNoLeader", "SluiceDueNotServed")
	b.redis.Kill()
	b.fires("SluiceRedisUnreachable")
}

// hookOf is the file that notify reads its address from.
func hookOf(env []string) string {
	for _, line := range env {
		if _, rest, found := strings.Cut(line, "url: '@"); found {
			file, _, _ := strings.Cut(rest, "'")
			return file
		}
	}
	return ""
}

// wait lets time pass for what is stopped meanwhile.
func wait(d time.Duration) { <-time.After(d) }
