// Package declared_test proves that the program collects what files describe.
package declared_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/config"
	"sluice/internal/document"
	sim "sluice/internal/simulator/declared"
	"sluice/internal/source"
	"sluice/internal/source/declared"
	"sluice/internal/source/declared/shipped"
	"sluice/internal/testkit/sluice"
	"sluice/internal/verify"
	"sluice/internal/wiring"
)

func TestMain(m *testing.M) { os.Exit(sluice.Main(m)) }

// hasten turns the rations of files that come with the program into shorter ones of
// the same shape, so that they are spent and come back while a test runs.
var hasten = map[string][]string{
	"pokeapi":       {"calls: 100, every: 1m", "calls: 25, every: 1s", "limit: 200", "limit: 20"},
	"hackernews":    {"calls: 600, every: 1m", "calls: 30, every: 1s"},
	"gitlab":        {"calls: 2000, every: 1m, keep: 100", "calls: 60, every: 2s, keep: 5", "calls: 600, every: 1m", "calls: 30, every: 1s", "every: 168h", "every: 1ms", "per_page: 100", "per_page: 7"},
	"stackexchange": {"calls: 25, every: 1s", "calls: 9, every: 1s", "pagesize: 100", "pagesize: 7"},
	"jira":          {"calls: 10, every: 1s", "calls: 20, every: 1s", "every: 168h", "every: 1ms", "maxResults: 100", "maxResults: 4", "maxResults: 50", "maxResults: 9"},
	"jsonfeed":      {"calls: 1, every: 1s", "calls: 4, every: 1s"},
	"rss":           {"calls: 1, every: 1s", "calls: 4, every: 1s"},
	"atom":          {"calls: 1, every: 1s", "calls: 4, every: 1s"},
}

// lasting are the kinds for which nothing tells what is gone.
var lasting = []document.Kind{"gitlab_pipelines", "stackexchange_questions", "jsonfeed_entries", "rss_entries", "atom_entries"}

// world is a simulated upstream, the file that describes it, and the data folder.
type world struct {
	t        *testing.T
	file     *declared.File
	path     string
	dir      string
	url      string
	upstream *sim.Server
	// ahead is by how much the upstream's clock is.
	ahead atomic.Int64
}

func newWorld(t *testing.T, name string, o sim.Options) *world {
	t.Helper()
	text, _ := shipped.File(name)
	quick := strings.NewReplacer(hasten[name]...).Replace(string(text))
	w := &world{t: t, dir: t.TempDir(), path: filepath.Join(t.TempDir(), name+".yaml")}
	if err := os.WriteFile(w.path, []byte(quick), 0o600); err != nil {
		t.Fatal(err)
	}
	var mistakes declared.Mistakes
	if w.file, mistakes = declared.Load([]byte(quick)); len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	described, err := w.file.Simulated()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := sim.ParseSpec(described)
	if err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }
	if w.upstream, err = sim.New(spec, o); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w.upstream)
	t.Cleanup(server.Close)
	w.url = server.URL
	w.upstream.SetURL(w.url)
	return w
}

func (w *world) arguments() []string {
	return []string{"collect", "acme", "--source", w.path, "--set", "base=" + w.url, "--data-dir", w.dir, "--workers", "4"}
}

var credential = []string{"SLUICE_SOURCE_TOKEN=somebody:" + "canary-of-a-credential"}

// later lets some time pass for the upstream: what was seen and what is found gone
// are told apart by whole seconds.
func (w *world) later() { w.ahead.Add(int64(3 * time.Second)) }

// kill lets the program collect for a while and kills it; it says whether it was done
// before.
func (w *world) kill(life time.Duration) (done bool) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), sluice.Binary, w.arguments()...)
	cmd.Env = append(sluice.Environment(), credential...)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	timer := time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	return timer.Stop() && err == nil
}

// differences are what is stored and is not so, or is so and not stored.
func (w *world) differences() (all []string) {
	w.t.Helper()
	src, err := declared.New(w.file, declared.Options{Base: w.url})
	if err != nil {
		w.t.Fatal(err)
	}
	svc, err := wiring.Open(w.t.Context(), wiring.Options{Config: config.Embedded(w.dir), Sources: []source.Source{src}, Quota: wiring.NoQuota()})
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = svc.State.Close() }()
	account, err := svc.State.AccountByLogin(w.t.Context(), w.file.Name, "acme")
	if err != nil {
		w.t.Fatal(err)
	}
	all, err = verify.Declared(w.t.Context(), svc.Documents, account.ID, w.file, w.upstream.Truth(), lasting...)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func (w *world) want(when string) {
	w.t.Helper()
	if wrong := w.differences(); len(wrong) > 0 {
		w.t.Errorf("%s: %d differences: %s", when, len(wrong), strings.Join(wrong[:min(len(wrong), 10)], "; "))
	}
	audit := w.upstream.Audit()
	for ration, n := range audit.Beyond {
		w.t.Errorf("%s: %d calls beyond %s: %+v", when, n, ration, audit)
	}
	if len(audit.Unknown) > 0 || audit.Anonymous > 0 {
		w.t.Errorf("%s: %+v", when, audit)
	}
}

// TestShipped: each source that comes with the program is complete though it is killed
// again and again, exact under change, and makes no call beyond any ration.
func TestShipped(t *testing.T) {
	random := sluice.Seeded(t)
	for _, name := range shipped.Names() {
		if name == "nexon" {
			continue // its records are TestRecords'
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, name, sim.Options{Seed: random.Uint64(), Records: 24, Children: 2})
			killed := 0
			for range 3 {
				if !w.kill(time.Duration(150+random.IntN(400)) * time.Millisecond) {
					killed++
				}
			}
			sluice.Run(t, credential, w.arguments()...).Expect(t, 0)
			w.want("the first collection")
			for range 2 {
				w.later()
				w.upstream.Mutate(sim.Mutation{Change: 12, Add: 4, Remove: 4})
				sluice.Run(t, credential, w.arguments()...).Expect(t, 0)
				w.want("after changes")
			}
			t.Logf("killed %d times; %+v", killed, w.upstream.Audit())
		})
	}
}

// TestService: a service that is told of a file collects by its schedule what the file
// describes, and shows and exports it as it does everything else.
func TestService(t *testing.T) {
	w := newWorld(t, "pokeapi", sim.Options{Seed: 3, Records: 12})
	setting := "SLUICE_SOURCES=" + w.path + "?base=" + w.url
	service := sluice.Start(t, []string{setting}, "up", "--addr", "127.0.0.1:0", "--data-dir", w.dir)
	url := sluice.AddressIn(t, service.Says("http://"))
	answer := sluice.Run(t, []string{setting}, "collect", "pokeapi:acme", "--server", url, "-o", "json").Expect(t, 0)
	if got := sluice.Decode[sluice.Summary](t, answer.Out); got.Documents != 24 {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{
		{"export", "--kind", "pokeapi_detail"}, {"doc", "list", "pokeapi_detail", "--format", "jsonl"}, {"changes", "--kind", "pokeapi_detail", "--after", "0", "-o", "json"},
	} {
		out := sluice.Run(t, []string{setting}, append(args, "--server", url)...).Expect(t, 0).Out
		if n := strings.Count(out, "pokeapi"); n < 12 {
			t.Errorf("%v shows %d of 12:\n%s", args, n, out)
		}
	}
	// The service tells a command that was not told of the file.
	if out := sluice.Run(t, nil, "export", "--kind", "pokeapi_detail", "--server", url).Expect(t, 0).Out; strings.Count(out, "\n") != 12 {
		t.Errorf("exported without the file are\n%s", out)
	}
	sluice.Run(t, nil, "export", "--kind", "pokeapi_details", "--server", url).Expect(t, 2, "pokeapi_details")
	if a := sluice.Run(t, []string{setting}, "stats", "pokeapi:acme", "--server", url).Expect(t, 0); !strings.Contains(a.Out, "pokeapi_detail            12") {
		t.Error(a.Out)
	}
}

// TestCommands: a mistake is told with its line, a plan is shown, and what a file does
// not say is refused.
func TestCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(file, []byte("source: x\nbase: https://x.example\nration: unknown\nstreams:\n  a: {gett: /a, key: id}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sluice.Run(t, nil, "source", "check", file).Expect(t, 2, `line 5: streams.a: there is no key "gett" here; did you mean "get"?`)
	sluice.Run(t, nil, "source", "check", "pokeapy").Expect(t, 2, "pokeapi")
	if a := sluice.Run(t, nil, "source", "check", "gitlab").Expect(t, 0); !strings.Contains(a.Out, "one walk for all projects") {
		t.Error(a.Out)
	}
	sluice.Run(t, nil, "collect", "gitlab:a", "jira:b").Expect(t, 2, "one source")
	sluice.Run(t, nil, "collect", "gitlab:a", "--data-dir", t.TempDir()).Expect(t, 2, "SLUICE_GITLAB_TOKEN")
	sluice.Run(t, nil, "collect", "pokeapi:a", "--set", "bse=x").Expect(t, 2, "bse")
	sluice.Run(t, nil, "collect", "octocat", "--set", "a=b").Expect(t, 2, "--source")
}
