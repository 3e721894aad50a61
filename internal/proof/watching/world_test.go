package watching_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	githubsim "sluice/internal/simulator/github"
	maplesim "sluice/internal/simulator/maplestory"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

// world is a service with everything it needs, watched by a Prometheus whose
// alerts come here.
type world struct {
	*testing.T
	github *sluice.Upstream
	game   *maplesim.Server
	redis  *testkit.Server
	sql    *testkit.Server
	*sluice.Service
	prometheus *testkit.Server
	alerts     *alerts
}

// newWorld starts all of it. The rules are those that are deployed, with shorter
// times.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, github: sluice.NewUpstream(t, githubsim.Options{Seed: 3, Accounts: 2}), redis: testkit.StartRedis(t), sql: testkit.StartSQL(t), alerts: newAlerts(t)}
	w.game = maplesim.New(maplesim.Options{Seed: 5, Characters: 100, BodySize: 2000})
	game := httptest.NewServer(w.game)
	t.Cleanup(game.Close)
	w.Service = &sluice.Service{Dir: t.TempDir(), Token: "a-token-of-the-api-for-tests"}
	w.Program = sluice.Start(t, []string{
		"SLUICE_STATE=" + w.sql.URL(), "SLUICE_REDIS=" + w.redis.URL(), "SLUICE_KEY_FILE=" + sluice.KeyFile(t),
		"SLUICE_MAPLESTORY_KEY=" + maplesim.DefaultKey, "SLUICE_API_TOKEN=" + w.Token,
	}, "up", "--addr", "127.0.0.1:0", "--github-url", w.github.URL, "--floor", "0", "--maplestory-url", game.URL, "--prefetch", "0",
		"--sink", "copy=sqlite:"+filepath.Join(t.TempDir(), "copy.db"))
	w.URL = sluice.AddressIn(t, w.Says("sluice serves http://"))
	w.prometheus = testkit.StartPrometheus(t, w.configuration(), map[string]string{
		"rules.yml": hasty(readFile(t, rulesFile)), "token": w.Token,
	})
	return w
}

// configuration watches the service once a second.
func (w *world) configuration() string {
	return fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 500ms}
rule_files: [rules.yml]
scrape_configs:
  - job_name: sluice
    authorization: {credentials_file: token}
    static_configs: [{targets: [%q]}]
alerting:
  alertmanagers: [{static_configs: [{targets: [%q]}]}]
`, strings.TrimPrefix(w.URL, "http://"), strings.TrimPrefix(w.alerts.url, "http://"))
}

var (
	patience = regexp.MustCompile(`(?m)^        for: \w+$`)
	lookback = regexp.MustCompile(`\[\d+[mh]\]`)
)

// hasty takes the patience out of rules: they fire at once, by what happened in the
// last minute.
func hasty(text string) string {
	return lookback.ReplaceAllString(patience.ReplaceAllString(text, "        for: 0s"), "[1m]")
}

// alerts receives what Prometheus sends, as an Alertmanager does.
type alerts struct {
	url string

	mu    sync.Mutex
	fired map[string]alert
	more  chan struct{}
}

type alert struct {
	Labels, Annotations map[string]string
	EndsAt              time.Time
}

func newAlerts(t *testing.T) *alerts {
	t.Helper()
	a := &alerts{fired: map[string]alert{}, more: make(chan struct{})}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// ServeHTTP implements http.Handler.
func (a *alerts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent []alert
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range sent {
		// Of one that is over the end is in the past.
		if one.EndsAt.After(time.Now()) {
			a.fired[one.Labels["alertname"]] = one
		}
	}
	close(a.more)
	a.more = make(chan struct{})
}

// has tells whether an alert has fired.
func (a *alerts) has(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, fired := a.fired[name]
	return fired
}

// forget lets an alert fire anew.
func (a *alerts) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.fired, name)
}

// fires waits until alerts have fired, and returns the last.
func (w *world) fires(names ...string) (last alert) {
	w.Helper()
	late := time.After(sluice.Patience)
	for _, name := range names {
		for {
			w.alerts.mu.Lock()
			one, fired := w.alerts.fired[name]
			more := w.alerts.more
			w.alerts.mu.Unlock()
			if fired {
				last = one
				break
			}
			select {
			case <-more:
			case <-late:
				w.Fatalf("%s never fired; metrics:\n%s\nthe service says:\n%s", name, w.scraped(), w.Stderr.Text())
			}
		}
		if last.Annotations["summary"] == "" || strings.Contains(last.Annotations["summary"], "template") {
			w.Errorf("%s says %v", name, last.Annotations)
		}
		w.Logf("%s fired: %s", name, last.Annotations["summary"])
	}
	return last
}

// until asks again and again.
func (w *world) until(is func() bool) {
	w.Helper()
	late := time.After(sluice.Patience)
	for !is() {
		select {
		case <-late:
			w.Fatalf("it is never so; the service says:\n%s", w.Stderr.Text())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// quiet demands that alerts have not fired.
func (w *world) quiet(names ...string) {
	w.Helper()
	for _, name := range names {
		if w.alerts.has(name) {
			w.Errorf("%s has fired before anything was broken", name)
		}
	}
}

// scraped is what the service exposes, if it still does.
func (w *world) scraped() string {
	if w.Ended() {
		return ""
	}
	return w.Get("/metrics")
}

// ask asks Prometheus, and returns how many series it answers with.
func (w *world) ask(expression string) int {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.prometheus.URL()+"/api/v1/query?query="+url.QueryEscape(expression), nil)
	if err != nil {
		w.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []any }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Status != "success" {
		w.Errorf("%s: %s %s, %v", expression, answer.Status, answer.Error, err)
	}
	return len(answer.Data.Result)
}

// refresh asks for snapshots.
func (w *world) refresh(keys ...string) {
	w.Helper()
	body, err := json.Marshal(map[string]any{"source": "maplestory", "keys": keys})
	if err != nil {
		w.Fatal(err)
	}
	if status, text := w.Call(http.MethodPost, "/api/v1/refresh", string(body)); status >= http.StatusBadRequest {
		w.Fatalf("refresh: %d %s", status, text)
	}
}

// unknown names characters that nobody is.
func unknown(from, n int) (keys []string) {
	for i := from; i < from+n; i++ {
		keys = append(keys, fmt.Sprintf("%032x", i))
	}
	return keys
}
