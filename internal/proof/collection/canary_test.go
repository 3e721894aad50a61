package collection_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// canaryWorld is a service of which every setting that can be secret is one.
type canaryWorld struct {
	*sluice.Service
	upstream *sluice.Upstream
	hooks    *sink
	traces   *sink
}

// sink takes whatever is posted.
type sink struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	came   chan struct{}
}

func newSink(t *testing.T) *sink {
	s := &sink{came: make(chan struct{}, 1000)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, body)
		s.mu.Unlock()
		s.came <- struct{}{}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	for _, b := range s.bodies {
		text.Write(b)
	}
	return text.String()
}

func startCanary(t *testing.T) *canaryWorld {
	t.Helper()
	w := &canaryWorld{upstream: sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2}), hooks: newSink(t), traces: newSink(t)}
	settings := filepath.Join(t.TempDir(), "sluice.yaml")
	text := fmt.Sprintf(`
notify:
  - {name: ops, type: webhook, url: %[1]s/hook, secret: $HOOK_CANARY, allow_private: true, every: 1s}
  - {name: chat, type: slack, url: $SLACK_CANARY, allow_private: true, every: 1s}
  - {name: mail, type: email, server: "127.0.0.1:1", user: u, password: $MAIL_CANARY, from: a@example.com, to: [b@example.com]}
`, w.hooks.URL)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Service = sluice.Up(t, w.upstream, []string{
		"SLUICE_API_TOKEN=" + sluice.APISecret, "SLUICE_WEBHOOK_SECRET=" + sluice.Canary + "aa11", "HOOK_CANARY=" + sluice.Canary + "bb22aabbccdd",
		"SLACK_CANARY=" + w.hooks.URL + "/services/" + sluice.Canary + "cc33", "MAIL_CANARY=" + sluice.Canary + "dd44",
		"SLUICE_MAPLESTORY_KEY=" + sluice.Canary + "ee55", "SLUICE_MAPLESTORY_URL=" + w.hooks.URL,
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + w.traces.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=" + sluice.Canary + "ff66", "OTEL_EXPORTER_OTLP_COMPRESSION=none",
	}, "--config", settings, "--log-level", "debug", "--log-format", "json")
	w.Token = sluice.APISecret
	return w
}

// TestCanary: with every secret set, none of them is in what a service writes,
// answers, measures, stores, or sends to those who are told and traced for, and
// one search finds a request, its run, its jobs and their calls.
func TestCanary(t *testing.T) {
	w := startCanary(t)
	login := w.upstream.Logins()[0]
	run := w.Signup(login, w.upstream.Token(login))
	w.Completes(run)
	// A token that is refused pauses its account, which is told.
	refused := w.Signup(w.upstream.Logins()[1], "ghp_canary0never0shown")
	for range 2 {
		<-w.hooks.came // the webhook and Slack's
	}
	_ = refused
	w.askEverything(t)
	for _, command := range [][]string{
		{"account", "list"}, {"quota"}, {"run", "list"}, {"notify", "list"}, {"timer", "list"}, {"notify", "test", "mail"}, {"stats", login},
	} {
		sluice.Run(t, []string{"SLUICE_API_TOKEN=" + sluice.APISecret}, append(command, "--server", w.URL, "-o", "json")...)
	}
	w.Signal(syscall.SIGTERM)
	ended := w.Ends().Expect(t, 0)
	told, traced := w.hooks.all(), w.traces.all()
	sluice.CheckNoSecret(t, "what people are told", told)
	sluice.CheckNoSecret(t, "traces", traced)
	if !strings.Contains(told, "account_paused") || !strings.Contains(told, `"blocks"`) {
		t.Errorf("nobody was told: %s", told)
	}
	checkFolderKeepsSecrets(t, w.Dir, "ghp_canary0never0shown")
	checkFolderKeepsSecrets(t, w.Dir, sluice.Canary)
	checkOneSearch(t, ended.Err)
	checkOneTrace(t, w.traces)
}

// askEverything gets every page that the description names, as far as it can be
// asked without knowing more, with the token and without.
func (w *canaryWorld) askEverything(t *testing.T) {
	t.Helper()
	doc := sluice.Decode[struct{ Paths map[string]map[string]any }](t, w.Get("/api/openapi.json"))
	asked := 0
	for path, methods := range doc.Paths {
		if _, get := methods["get"]; !get || strings.HasSuffix(path, "/events") {
			continue
		}
		path = strings.NewReplacer("{id}", "1", "{source}", "github", "{key}", "x", "{owner}", "x").Replace(path)
		w.Call(http.MethodGet, path, "")
		asked++
	}
	w.Get("/metrics")
	if asked < 15 {
		t.Errorf("%d pages were asked for", asked)
	}
	known := w.Token
	w.Token = ""
	if status, _ := w.Call(http.MethodGet, "/api/v1/accounts", ""); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	w.Token = known
}

// checkOneSearch follows the id of the first request through the log.
func checkOneSearch(t *testing.T, log string) {
	t.Helper()
	found, id := map[string]int{}, ""
	for line := range strings.Lines(log) {
		var about struct {
			Event       string `json:"event"`
			Correlation string `json:"correlation_id"`
			Path        string `json:"path"`
		}
		if json.Unmarshal([]byte(line), &about) != nil {
			continue
		}
		if id == "" && about.Event == "run.started" {
			id = about.Correlation
		}
		if id != "" && about.Correlation == id {
			found[about.Event]++
		}
	}
	if strings.HasPrefix(id, "run-") || found["request.served"] != 1 || found["run.started"] != 1 || found["run.ended"] != 1 ||
		found["job.completed"] < 5 || found["call.answered"] < 5 {
		t.Errorf("%q leads to %v", id, found)
	}
}

// checkOneTrace: the request that began a run, its jobs, calls and commits are one
// trace.
func checkOneTrace(t *testing.T, s *sink) {
	t.Helper()
	names, requests := map[string]map[string]int{}, map[string]bool{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, body := range s.bodies {
		var sent collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &sent); err != nil {
			t.Fatal(err)
		}
		for _, one := range sent.GetResourceSpans() {
			for _, scope := range one.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					id := fmt.Sprintf("%x", span.GetTraceId())
					if names[id] == nil {
						names[id] = map[string]int{}
					}
					name, _, _ := strings.Cut(span.GetName(), " ")
					names[id][name]++
					if name == "POST" {
						requests[id] = true
					}
				}
			}
		}
	}
	whole := 0
	for id := range requests {
		if names[id]["job"] >= 5 && names[id]["call"] == names[id]["job"] && names[id]["commit"] == names[id]["job"] {
			whole++
		}
	}
	if whole != 1 {
		t.Errorf("%d traces are whole: %v", whole, names)
	}
}
