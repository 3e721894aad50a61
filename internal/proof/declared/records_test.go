package declared_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/refresh"
	maplesim "sluice/internal/simulator/maplestory"
	"sluice/internal/source/declared/shipped"
	"sluice/internal/testkit/sluice"
)

// The keys of the two callers of one game: the source that a file describes, and that of
// the program.
const (
	recordKey  = "canary-of-a-record-key"
	builtInKey = "canary-of-another-key"
)

// game is the hand-written simulator, which knows nothing of files, and a service that
// keeps its characters by the file that comes with the program.
type game struct {
	*testing.T
	sim      *maplesim.Server
	url, dir string
	file     string
	service  *sluice.Service
	keys     []string
	names    map[string]string // by key
}

// quickened turns the file's rations into smaller ones of the same shape, so that they
// are spent while a test runs, and its waits into short ones.
var quickened = strings.NewReplacer("calls: 500, every: 1s", "calls: 80, every: 1s", "calls: 20000000", "calls: 4000", "for: 1m, what: key", "for: 1s, what: key")

func newGame(t *testing.T, characters int) *game {
	t.Helper()
	text, _ := shipped.File("nexon")
	g := &game{T: t, dir: t.TempDir(), file: filepath.Join(t.TempDir(), "nexon.yaml"), names: map[string]string{}}
	if err := os.WriteFile(g.file, []byte(quickened.Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	g.sim = maplesim.New(maplesim.Options{
		Seed: 7, Characters: characters, BodySize: 3000, Keys: []string{recordKey, builtInKey}, Limits: maplesim.Limits{PerSecond: 80, PerDay: 4000},
		Latency: maplesim.Latency{Fixed: 5 * time.Millisecond, Jitter: 20 * time.Millisecond},
	})
	server := httptest.NewServer(g.sim)
	t.Cleanup(server.Close)
	g.url = server.URL
	for _, c := range g.sim.Characters(0, characters) {
		for _, part := range []string{"basic", "item-equipment", "symbol-equipment", "stat"} {
			key := part + ":" + c.Name
			g.keys, g.names[key] = append(g.keys, key), c.Name
		}
	}
	return g
}

func (g *game) start(more ...string) {
	g.Helper()
	env := append([]string{"SLUICE_NEXON_TOKEN=" + recordKey, "SLUICE_SOURCES=" + g.file + "?base=" + g.url + "/maplestory/v1"}, more...)
	g.service = &sluice.Service{Dir: g.dir}
	g.service.Program = sluice.Start(g.T, env, "up", "--addr", "127.0.0.1:0", "--data-dir", g.dir, "--prefetch", "0")
	g.service.URL = sluice.AddressIn(g.T, g.service.Says("sluice serves http://"))
}

// ask has everything refreshed.
func (g *game) ask(source, priority string, keys []string) {
	g.Helper()
	body, err := json.Marshal(map[string]any{"source": source, "keys": keys, "priority": priority})
	if err != nil {
		g.Fatal(err)
	}
	if code, text := g.service.Call(http.MethodPost, "/api/v1/refresh", string(body)); code != http.StatusAccepted && code != http.StatusOK {
		g.Fatalf("%d %s", code, text)
	}
}

// wrong are the keys of which something else is kept than the game has now.
func (g *game) wrong() (all []string) {
	g.Helper()
	ocids := map[string]string{}
	for _, c := range g.sim.Characters(0, len(g.keys)) {
		ocids[c.Name] = c.Ocid
	}
	for _, key := range g.keys {
		part, name, _ := strings.Cut(key, ":")
		truth, _ := g.sim.Truth(part+":"+ocids[name], time.Time{})
		var answer refresh.Answer
		_, text := g.service.Call(http.MethodGet, "/api/v1/snapshots/nexon/"+url.PathEscape(key), "")
		if json.Unmarshal([]byte(text), &answer) != nil || sha256.Sum256(compacted(answer.Snapshot)) != truth.Hash {
			all = append(all, key)
		}
	}
	return all
}

func compacted(text []byte) []byte {
	var out bytes.Buffer
	_ = json.Compact(&out, text)
	return out.Bytes()
}

// becomes waits until everything is as it is in the game.
func (g *game) becomes(when string) {
	g.Helper()
	var wrong []string
	g.until(func() bool {
		wrong = g.wrong()
		return len(wrong) == 0
	}, func() {
		_, letters := g.service.Call(http.MethodGet, "/api/v1/dead-letters", "")
		g.Fatalf("%s: %d of %d are not the truth, such as %v; %s", when, len(wrong), len(g.keys), wrong[:min(len(wrong), 3)], letters)
	})
}

// until looks again and again whether something is so, and gives up when it hangs.
func (g *game) until(is func() bool, never func()) {
	g.Helper()
	for deadline := time.Now().Add(sluice.Patience); !is(); {
		if time.Now().After(deadline) {
			never()
		}
		backoff.Sleep(g.Context(), 100*time.Millisecond)
	}
}

// kept checks that the upstream's limits were.
func (g *game) kept() {
	g.Helper()
	a := g.sim.Audit()
	if a.BeyondSecond+a.BeyondDay+a.UnknownKey > 0 {
		g.Errorf("calls beyond what the game allows: %+v", a)
	}
	g.Logf("%d calls, at most %d in any second of 80; %v", a.Calls, a.LargestSecondByKey[recordKey], a.ByPart)
}

// TestRecords: the file keeps what the game has, by names, though it is killed in the
// middle, values change, names get other ocids and calls fail; beside the program's own
// source of the same game, and never beyond the second's and the day's calls.
func TestRecords(t *testing.T) {
	characters := 40
	if testing.Short() {
		characters = 25
	}
	g := newGame(t, characters)
	others := []string{"SLUICE_MAPLESTORY_KEY=" + builtInKey, "SLUICE_MAPLESTORY_URL=" + g.url, "SLUICE_MAPLESTORY_PER_SECOND=80", "SLUICE_MAPLESTORY_PER_DAY=4000", "SLUICE_MAPLESTORY_RESERVE=100"}
	g.start(others...)
	g.ask("nexon", "LOW", g.keys)
	g.ask("maplestory", "HIGH", []string{g.sim.Ocid(0)})
	g.until(func() bool { return g.sim.Audit().Calls >= int64(characters) }, func() { g.Fatal("nothing is called") })
	g.service.Signal(syscall.SIGKILL)
	g.service.Ends()
	if n := g.sim.Audit().Calls; n >= int64(5*characters) {
		t.Logf("it was done before it was killed: %d calls", n)
	}
	g.start(others...)
	g.ask("nexon", "HIGH", g.keys[:10])
	g.becomes("after it was killed")
	g.kept()
	if n := g.sim.Audit().ByPart; n["basic"] > int64(3*characters) {
		t.Errorf("more than anybody needs: %v", n)
	}
	// What changes is found; an ocid that is no longer anybody's is asked for anew.
	for i := range characters {
		switch i % 3 {
		case 0:
			g.sim.Change("basic:" + g.sim.Ocid(i))
		case 1:
			g.sim.Renew(g.sim.Ocid(i))
		}
	}
	g.sim.FailNext(maplesim.AnyRequest, 3, maplesim.Failure(maplesim.BeingPrepared))
	g.sim.FailNext(maplesim.AnyRequest, 2, maplesim.Failure(maplesim.Internal))
	g.ask("nexon", "HIGH", g.keys)
	g.becomes("after changes")
	g.kept()
	view := g.service.Get("/api/v1/refresh")
	for _, text := range []string{`"source":"maplestory"`, `"source":"nexon"`, `"upstream nexon":"closed"`, `"dead_letters":{}`} {
		if !strings.Contains(string(compacted([]byte(view))), text) {
			t.Errorf("the overview does not say %s: %s", text, view)
		}
	}
	for _, args := range [][]string{{"snapshot", "get", "--source", "nexon", g.keys[0]}, {"refresh", "--source", "nexon", g.keys[1]}} {
		a := sluice.Run(t, nil, append(args, "--server", g.service.URL)...).Expect(t, 0)
		if !slices.ContainsFunc([]string{"character_name", "PUBLISHED", "PROCESSING"}, func(s string) bool { return strings.Contains(a.Out, s) }) {
			t.Errorf("%v: %s", args, a.Out)
		}
	}
	sluice.Run(t, nil, "snapshot", "get", "--source", "nexon", "nothing:x", "--server", g.service.URL).Expect(t, 2, "its record is one of id, basic")
	g.service.Signal(syscall.SIGTERM)
	ended := g.service.Ends().Expect(t, 0)
	if text := ended.Out + ended.Err; strings.Contains(text, recordKey) {
		t.Errorf("it shows the key:\n%s", text)
	}
}

// TestRecordsAreAskedForRightly: what is missing or mistaken is told with what to do.
func TestRecordsAreAskedForRightly(t *testing.T) {
	sluice.Run(t, nil, "up", "--sources", "nexon", "--addr", "127.0.0.1:0", "--data-dir", t.TempDir()).Expect(t, 2, "SLUICE_NEXON_TOKEN")
	sluice.Run(t, nil, "collect", "nexon:somebody", "--data-dir", t.TempDir()).Expect(t, 2, "records by key", "snapshot get --source nexon")
	sluice.Run(t, nil, "source", "probe", "nexon").Expect(t, 2, "records by key")
	if a := sluice.Run(t, nil, "source", "check", "nexon").Expect(t, 0); !strings.Contains(a.Out, "450 calls a second, 25 at once") || !strings.Contains(a.Out, "first  id, for its ocid") {
		t.Error(a.Out)
	}
	text, _ := shipped.File("nexon")
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, bytes.Replace(text, []byte("source: nexon"), []byte("source: maplestory"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	sluice.Run(t, nil, "source", "check", file).Expect(t, 2, "the program has a source maplestory of its own")
}

// TestRecordsOfADay: when a day's calls are spent none is made any more.
func TestRecordsOfADay(t *testing.T) {
	const day = 60
	g := newGame(t, 20)
	text, err := os.ReadFile(g.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(g.file, bytes.Replace(text, []byte("calls: 4000"), []byte("calls: 60"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	g.start()
	g.ask("nexon", "HIGH", g.keys)
	// What is given back at the begin of a day stays counted: not all of it is used.
	g.until(func() bool { return g.sim.Audit().Calls >= day/2 }, func() { g.Fatalf("%d calls of a day of %d", g.sim.Audit().Calls, day) })
	backoff.Sleep(t.Context(), time.Second)
	// Who is killed has counted them before it made them.
	g.service.Signal(syscall.SIGKILL)
	g.service.Ends()
	g.start()
	g.ask("nexon", "HIGH", g.keys)
	backoff.Sleep(t.Context(), 2*time.Second)
	g.kept()
	if n := g.sim.Audit().Calls; n < day/2 || n > day {
		t.Errorf("%d calls of a day of %d", n, day)
	}
}
