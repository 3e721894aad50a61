package timers_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/client"
	"sluice/internal/httpapi/wire"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
	"sluice/internal/timer"
	"sluice/internal/webhook"
)

const webhookSecret = "a plain secret of enough bytes"

// hookReceiver verifies what it gets, and answers what a test wants.
type hookReceiver struct {
	*httptest.Server
	status atomic.Int64
	mu     sync.Mutex
	got    map[string]int
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	r := &hookReceiver{got: map[string]int{}}
	r.status.Store(http.StatusOK)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err == nil {
			err = webhook.Verify(webhookSecret, q.Header, body, time.Now(), time.Minute)
		}
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		r.got[q.Header.Get(webhook.HeaderID)]++
		r.mu.Unlock()
		w.WriteHeader(int(r.status.Load()))
	}))
	t.Cleanup(r.Close)
	return r
}

func TestTimerCommands(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	receiver := newHookReceiver(t)
	s := sluice.Up(t, u, []string{"SLUICE_WEBHOOK_SECRET=" + webhookSecret}, "--webhook-allow-private")
	run := func(code int, args ...string) sluice.Answer {
		t.Helper()
		return sluice.Run(t, nil, append([]string{"timer"}, append(args, "--data-dir", s.Dir)...)...).Expect(t, code)
	}
	shows := func(want string, args ...string) {
		t.Helper()
		if a := run(0, args...); !strings.Contains(a.Out, want) {
			t.Errorf("%v does not show %q: %s", args, want, a.Out)
		}
	}
	one := func(args ...string) timer.Timer {
		t.Helper()
		return sluice.Decode[timer.Timer](t, run(0, append(args, "--output", "json")...).Out)
	}
	watch := watchTimers(t, s.Dir)

	if list := sluice.Decode[wire.TimerList](t, run(0, "list", "--output", "json").Out); list.Items == nil || len(list.Items) != 0 {
		t.Errorf("at first: %+v", list)
	}
	at := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	shows("timer order:7: fires at", "set", "order:7", "--at", at, "--payload", `{"n":1}`)
	shows("timer order:7: fires at", "set", "order:7", "--at", at, "--payload", ` {"n": 1}`)
	if a := run(1, "set", "order:7", "--in", "5m"); !strings.Contains(a.Err, "other content") || a.Out != "" {
		t.Errorf("another of its id: %+v", a)
	}
	shows(`payload {"n":1}`, "show", "order:7")
	shows("WAITING", "list", "--status", "waiting", "--prefix", "order")
	shows("canceled; it was set for", "cancel", "order:7")
	if got := one("show", "order:7"); got.Status != timer.Canceled {
		t.Errorf("canceled: %+v", got)
	}
	shows("fires at", "reschedule", "order:7", "--in", "2h")
	if got := one("reschedule", "order:7", "--in", "0s"); got.ID != "order:7" {
		t.Errorf("rescheduled: %+v", got)
	}
	watch.await("order:7")
	shows("fired at", "show", "order:7")
	for _, args := range [][]string{{"cancel", "order:7"}, {"reschedule", "order:7", "--in", "5m"}, {"redeliver", "order:7"}} {
		if a := run(1, args...); !strings.Contains(a.Err, "COMPLETED") {
			t.Errorf("%v: %+v", args, a)
		}
	}
	for _, verb := range []string{"show", "cancel", "redeliver"} {
		if a := run(1, verb, "nobody"); !strings.Contains(a.Err, "there is no timer nobody") {
			t.Errorf("%s: %+v", verb, a)
		}
	}

	receiver.status.Store(http.StatusGone)
	one("set", "hooked", "--in", "0s", "--webhook", receiver.URL)
	settled := func(status timer.Status) timer.Timer {
		t.Helper()
		changed := events(t, s)
		defer changed.Close()
		for lines := bufio.NewScanner(changed); ; lines.Scan() {
			if got := one("show", "hooked"); got.Status == status {
				return got
			}
		}
	}
	if got := settled(timer.Dead); got.Tries != 1 || got.Error == "" {
		t.Errorf("given up: %+v", got)
	}
	shows("sluice timer redeliver hooked", "show", "hooked")
	receiver.status.Store(http.StatusNoContent)
	one("redeliver", "hooked")
	settled(timer.Completed)
	if receiver.got["hooked"] != 2 {
		t.Errorf("received %v", receiver.got)
	}

	shows("2 timers fired in the last 24 hours: 2 delivered, 0 under way, 0 given up", "stats")
	sum := sluice.Decode[wire.CompletionStats](t, run(0, "stats", "--hours", "1", "--output", "json").Out)
	if sum.Completed != 2 || sum.Succeeded != 2 || len(sum.Servers) != 1 {
		t.Errorf("stats: %+v", sum)
	}
	shows("0 timers overdue; 0 fired now", "missed")
	if missed := sluice.Decode[timer.Missed](t, run(0, "missed", "--output", "json").Out); missed.Found != 0 || missed.Timers == nil {
		t.Errorf("missed: %+v", missed)
	}
	watch.ends()
	s.Signal(syscall.SIGTERM)
	s.Ends().Expect(t, 0)

	// Without a service timers can be set and shown, and wait.
	shows("nothing fires it now", "set", "later", "--in", "1s")
	shows("COMPLETED", "list")
}

// events opens the stream of completions, whose lines show that time goes by.
func events(t *testing.T, s *sluice.Service) io.ReadCloser {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v1/completions/events?after=0:", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Body
}

func TestBadTimerCommands(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	s := sluice.Up(t, u, nil)
	signed := sluice.Up(t, u, []string{"SLUICE_WEBHOOK_SECRET=" + webhookSecret})
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, []byte(`"`+strings.Repeat("x", timer.MaxPayload)+`"`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{2, "--in", []string{"set", "a"}},
		{2, "either --in", []string{"set", "a", "--in", "5m", "--at", "2030-01-01T00:00:00Z"}},
		{2, "one timer's id", []string{"set", "--in", "5m"}},
		{2, "cannot be a timer's id", []string{"set", "a b", "--in", "5m"}},
		{2, "cannot be a timer's id", []string{"show", "~rebuild"}},
		{2, "not JSON", []string{"set", "a", "--in", "5m", "--payload", "hello"}},
		{2, "at most 65536", []string{"set", "a", "--in", "5m", "--payload", "@" + large}},
		{2, "--payload", []string{"set", "a", "--in", "5m", "--payload", "@/nowhere"}},
		{2, "not a timer's status", []string{"list", "--status", "SLEEPING"}},
		{2, "is not a time", []string{"set", "a", "--at", "tomorrow"}},
		{2, "is not a time", []string{"set", "a", "--at", "2030-01-01 09:00"}},
		{2, "is not a duration", []string{"set", "a", "--in", "soon"}},
		{2, "cannot be negative", []string{"set", "a", "--in", "-5m"}},
		{2, "between 1970 and 2200", []string{"set", "a", "--at", "2300-01-01T00:00:00Z"}},
		{2, "public internet", []string{"set", "a", "--in", "5m", "--webhook", "http://169.254.169.254/"}},
		{2, "public internet", []string{"set", "a", "--in", "5m", "--webhook", "http://127.0.0.1:1/"}},
		{2, "this machine", []string{"set", "a", "--in", "5m", "--webhook", "http://localhost/"}},
	} {
		a := sluice.Run(t, nil, append([]string{"timer"}, append(c.args, "--server", signed.URL)...)...).Expect(t, c.code, c.says)
		if a.Out != "" {
			t.Errorf("%v: on stdout %s", c.args, a.Out)
		}
	}
	sluice.Run(t, nil, "timer", "set", "a", "--in", "5m", "--webhook", "https://example.com/", "--server", s.URL).Expect(t, 2, "SLUICE_WEBHOOK_SECRET")
	for _, one := range []*sluice.Service{s, signed} {
		if text := one.Get("/api/v1/timers"); !strings.Contains(text, `"items":[]`) {
			t.Errorf("stored: %s", text)
		}
	}
	if status, text := s.Call(http.MethodGet, "/debug/redis/stats", ""); status != http.StatusNotFound {
		t.Errorf("got %d %s", status, text)
	}
}

// TestTimersSurviveAKill kills a service among its timers: when it is there
// again each has one completion.
func TestTimersSurviveAKill(t *testing.T) {
	const n = 2000
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	dir := t.TempDir()
	s := sluice.UpIn(t, u, dir, nil)
	begin := time.Now().Add(2 * time.Second)
	// Half of them are due so long after they were set that the first life cannot
	// fire them all, however long setting takes.
	due := func(i int) time.Time {
		if i >= n/2 {
			return time.Now().Add(20 * time.Second)
		}
		return begin.Add(time.Duration(i) * time.Millisecond)
	}
	var everybody sync.WaitGroup
	for part := range 8 {
		everybody.Go(func() {
			for i := part; i < n; i += 8 {
				body := fmt.Sprintf(`{"id":"t%04d","at":%q}`, i, due(i).Format(time.RFC3339Nano))
				if status, text := s.Call(http.MethodPost, "/api/v1/timers", body); status != http.StatusCreated {
					t.Errorf("got %d %s", status, text)
				}
			}
		})
	}
	everybody.Wait()
	until := func(s *sluice.Service, enough int) {
		t.Helper()
		api, err := client.New(s.URL, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		told := map[string]bool{}
		stream := events(t, s)
		defer stream.Close()
		for lines := bufio.NewScanner(stream); len(told) < enough && lines.Scan(); {
			var c timer.Completion
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &c) == nil {
				told[c.Timer] = true
			}
		}
		if sum, err := api.CompletionStats(t.Context(), 1); err != nil || sum.Completed < int64(enough) {
			t.Errorf("%+v, %v", sum, err)
		}
	}
	until(s, n/4)
	s.Signal(syscall.SIGKILL)
	s.Ends()
	s = sluice.UpIn(t, u, dir, nil)
	until(s, n)
	seen, servers := map[string]int{}, map[string]int{}
	for after := ""; ; {
		page := sluice.Decode[wire.CompletionList](t, s.Get("/api/v1/completions?limit=1000&cursor="+after))
		for _, c := range page.Items {
			seen[c.Timer]++
			servers[c.Server]++
		}
		if after = page.NextCursor; after == "" {
			break
		}
	}
	if len(seen) != n || len(servers) != 2 {
		t.Errorf("%d have fired, by %v", len(seen), servers)
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s has %d completions", id, times)
		}
	}
	t.Logf("fired by %v", servers)
}

// TestRedisStatsOfAService asks a service that uses Redis how that fares.
func TestRedisStatsOfAService(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	redis := testkit.StartRedis(t)
	s := sluice.Up(t, u, []string{"SLUICE_API_TOKEN=" + sluice.APISecret},
		"--state", testkit.SQL(t), "--redis", redis.URL(), "--key-file", sluice.KeyFile(t))
	if status, text := s.Call(http.MethodGet, "/debug/redis/stats", ""); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d %s", status, text)
	}
	s.Token = sluice.APISecret
	if status, text := s.Call(http.MethodPost, "/api/v1/timers", `{"id":"a","in":"1h"}`); status != http.StatusCreated {
		t.Fatalf("got %d %s", status, text)
	}
	type stats struct {
		Nodes []struct {
			Address  string
			Keys     int
			Commands int
		}
		Lengths map[string]int
	}
	got := sluice.Decode[stats](t, s.Get("/debug/redis/stats"))
	if len(got.Nodes) != 1 || got.Nodes[0].Keys == 0 || got.Nodes[0].Commands == 0 || got.Lengths["{sluice}:due:timers"] < 1 {
		t.Errorf("got %+v", got)
	}
	for range 20 {
		s.Get("/debug/redis/stats")
	}
	used := redisCommands(t, redis.URL())
	for _, name := range []string{"keys", "scan", "hscan", "zscan", "sscan", "smembers", "hgetall", "monitor", "debug", "client|pause"} {
		if strings.Contains(used, "cmdstat_"+name+":") {
			t.Errorf("it used %s", name)
		}
	}
	if !strings.Contains(used, "cmdstat_dbsize:calls=21,") {
		t.Errorf("it used %s", used)
	}
}

// redisCommands is what a Redis tells about the commands it has seen.
func redisCommands(t *testing.T, url string) string {
	t.Helper()
	db, err := redis.Open(t.Context(), redis.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	info, err := db.Client.Do(t.Context(), db.Client.B().Info().Section("commandstats").Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	return info
}
