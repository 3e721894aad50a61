package declared_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sim "sluice/internal/simulator/declared"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

// asked asks a service again and again until it is stopped, and says how often it was
// answered, and with what beside 200.
func asked(t *testing.T, url string) (stop func() (answers int, others []string)) {
	t.Helper()
	end := make(chan struct{})
	var all sync.WaitGroup
	var mu sync.Mutex
	answers, others := 0, []string(nil)
	for range 3 {
		all.Go(func() {
			for {
				select {
				case <-end:
					return
				case <-time.After(2 * time.Millisecond):
				}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/accounts", http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				var said string
				if response, err := http.DefaultClient.Do(request); err != nil {
					said = err.Error()
				} else {
					said = response.Status
					_ = response.Body.Close()
				}
				mu.Lock()
				if answers++; said != "200 OK" {
					others = append(others, said)
				}
				mu.Unlock()
			}
		})
	}
	return func() (int, []string) {
		close(end)
		all.Wait()
		return answers, others
	}
}

func upOn(t *testing.T, dir string) (service *sluice.Program, url string) {
	t.Helper()
	service = sluice.Start(t, nil, "up", "--addr", "127.0.0.1:0", "--data-dir", dir)
	return service, sluice.AddressIn(t, service.Says("sluice serves http://"))
}

// TestAdded: a running service takes up a file that is added, and one that is changed,
// without an answer that is not one; a kill right after leaves nothing half done.
func TestAdded(t *testing.T) {
	w := newWorld(t, "pokeapi", sim.Options{Seed: 3, Records: 12})
	service, url := upOn(t, w.dir)
	stop := asked(t, url)
	sluice.Run(t, nil, "source", "add", w.path, "--set", "base="+w.url, "--server", url).Expect(t, 0)
	answer := sluice.Run(t, nil, "collect", "pokeapi:acme", "--server", url, "-o", "json").Expect(t, 0)
	if got := sluice.Decode[sluice.Summary](t, answer.Out); got.Documents != 24 {
		t.Errorf("%+v", got)
	}
	text, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	changed := w.path + ".changed.yaml"
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), "title:", "doc: A changed file.\ntitle:", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	sluice.Run(t, nil, "source", "add", changed, "--set", "base="+w.url, "--server", url).Expect(t, 0)
	answers, others := stop()
	if len(others) > 0 || answers < 10 {
		t.Errorf("of %d requests %d were answered with something else: %v", answers, len(others), others[:min(3, len(others))])
	}
	sluice.Run(t, nil, "source", "remove", "pokeapi", "--server", url).Expect(t, 1, "account purge pokeapi:LOGIN")
	// Killed as soon as it has answered, or before.
	ended := make(chan sluice.Answer, 1)
	go func() {
		ended <- sluice.Run(t, nil, "source", "add", w.path, "--name", "second", "--set", "base="+w.url, "--server", url)
	}()
	<-time.After(30 * time.Millisecond)
	service.Signal(syscall.SIGKILL)
	_ = service.Wait()
	<-ended
	service, url = upOn(t, w.dir)
	list := sluice.Run(t, nil, "source", "list", "--server", url, "-o", "json").Expect(t, 0).Out
	if !strings.Contains(list, `"name": "pokeapi"`) || strings.Contains(list, `"problem"`) {
		t.Errorf("after a kill there are %s", list)
	}
	sluice.Run(t, nil, "source", "add", w.path, "--name", "second", "--set", "base="+w.url, "--server", url).Expect(t, 0)
	sluice.Run(t, nil, "collect", "second:acme", "--server", url).Expect(t, 0)
	sluice.Run(t, nil, "account", "purge", "second:acme", "--yes", "--server", url).Expect(t, 0)
	sluice.Run(t, nil, "source", "remove", "second", "--server", url).Expect(t, 0)
	service.Signal(os.Interrupt)
	service.Ends().Expect(t, 0)
	// What was collected can be read, and collected again, without the service.
	if out := sluice.Run(t, nil, "doc", "list", "pokeapi_detail", "--data-dir", w.dir, "--format", "jsonl").Expect(t, 0).Out; strings.Count(out, "\n") != 12 {
		t.Errorf("there are\n%s", out)
	}
	sluice.Run(t, nil, "collect", "pokeapi:acme", "--data-dir", w.dir).Expect(t, 0)
}

// TestCredentialsStayWhereTheyWereGivenFor: a credential is shown to no other host when
// the file, or what is set, says another one; what was collected before is not believed.
func TestCredentialsStayWhereTheyWereGivenFor(t *testing.T) {
	here := newWorld(t, "gitlab", sim.Options{Seed: 5, Records: 6, Children: 1})
	there := newWorld(t, "gitlab", sim.Options{Seed: 6, Records: 9, Children: 1})
	dir := []string{"--data-dir", here.dir}
	run := func(code int, says string, args ...string) sluice.Answer {
		t.Helper()
		return sluice.Run(t, nil, append(args, dir...)...).Expect(t, code, says)
	}
	token := here.path + ".token"
	if err := os.WriteFile(token, []byte("somebody:"+sluice.Canary+"x"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(0, "", "source", "add", here.path, "--set", "base="+here.url)
	run(0, "", "collect", "gitlab:acme", "--token-file", token)
	run(0, "", "source", "add", here.path, "--set", "base="+there.url)
	run(1, "was given for "+here.url, "collect", "gitlab:acme")
	if a := there.upstream.Audit(); a.Calls > 0 || a.Anonymous > 0 {
		t.Errorf("the other host was called: %+v", a)
	}
	if list := run(0, "", "account", "list").Out; !strings.Contains(list, "paused") || !strings.Contains(list, "account set gitlab:acme --token-file") {
		t.Errorf("the account is\n%s", list)
	}
	run(1, "was given for", "account", "set", "gitlab:acme", "--set", "url=https://git.example")
	run(0, "", "account", "set", "gitlab:acme", "--token-file", token)
	run(0, "", "collect", "gitlab:acme")
	there.dir = here.dir
	there.want("after the address changed")
	// An account may have an address of its own.
	run(0, "", "account", "add", "gitlab:other", "--set", "base="+here.url, "--token-file", token)
	if shown := run(0, "", "account", "show", "gitlab:other").Out; !strings.Contains(shown, "its credential is for "+here.url) {
		t.Errorf("the account is\n%s", shown)
	}
	before := here.upstream.Audit().Calls
	run(0, "", "collect", "gitlab:other")
	if here.upstream.Audit().Calls == before {
		t.Error("an account with an address of its own was collected elsewhere")
	}
}

// TestAddedOnSeveralMachines: what is added to one process is collected by the others,
// and by the version that was stored last.
func TestAddedOnSeveralMachines(t *testing.T) {
	redis, sql := testkit.StartRedis(t), testkit.StartSQL(t)
	env := []string{
		"SLUICE_STATE=" + sql.URL(), "SLUICE_REDIS=" + redis.URL(), "SLUICE_KEY_FILE=" + sluice.KeyFile(t),
		"SLUICE_ADDR=127.0.0.1:0", "SLUICE_LOG_LEVEL=info", "SLUICE_HARVEST=false",
	}
	w := newWorld(t, "pokeapi", sim.Options{Seed: 3, Records: 12})
	front := sluice.Start(t, env, "up", "--roles", "api")
	url := sluice.AddressIn(t, front.Says("sluice serves http://"))
	worker := sluice.Start(t, env, "up", "--roles", "worker,scheduler")
	worker.Says("sluice works")
	sluice.Run(t, nil, "source", "add", w.path, "--set", "base=http://127.0.0.1:9", "--server", url).Expect(t, 0)
	worker.Says("the service goes on with the sources as they are")
	sluice.Run(t, nil, "source", "add", w.path, "--set", "base="+w.url, "--server", url).Expect(t, 0)
	answer := sluice.Run(t, nil, "collect", "pokeapi:acme", "--server", url, "-o", "json").Expect(t, 0)
	if got := sluice.Decode[sluice.Summary](t, answer.Out); got.Documents != 24 {
		t.Errorf("%+v", got)
	}
}

// TestDemo: the demo of a file is complete though it is killed, and says what it broke.
func TestDemo(t *testing.T) {
	w := newWorld(t, "jira", sim.Options{})
	args := []string{"demo", "--source", w.path, "--records", "30", "--addr", "127.0.0.1:0", "--data-dir", w.dir, "--exit-when-done", "-o", "json"}
	killed := sluice.Start(t, nil, args...)
	killed.Says("acme run 1")
	killed.Signal(syscall.SIGKILL)
	_ = killed.Wait()
	for range 2 {
		answer := sluice.Run(t, nil, args...).Expect(t, 0, "simulated Jira")
		got := sluice.Decode[struct {
			Documents  int
			TruthMatch bool `json:"truth_match"`
			Violations int
		}](t, answer.Out)
		if !got.TruthMatch || got.Violations != 0 || got.Documents == 0 {
			t.Errorf("the demo says %s", answer.Out)
		}
	}
	sluice.Run(t, nil, "demo", "--source", "no-such").Expect(t, 2, "no-such")
}

// TestAChangedFileIsTakenUp: after a file was changed, everything that is stored can be
// read, and collected again, by whatever command comes first.
func TestAChangedFileIsTakenUp(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`[{"id":1,"price":5,"name":"a"},{"id":2,"price":6,"name":"b"}]`))
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "shop.yaml")
	write := func(more string) {
		t.Helper()
		text := "source: shop\n" + more + "base: " + server.URL + "\nration:\n  all: {per: key, calls: 60, every: 1s}\nstreams:\n  orders: {get: /x, key: id}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) sluice.Answer {
		t.Helper()
		return sluice.Run(t, nil, append(args, "--data-dir", filepath.Join(dir, "data"))...).Expect(t, 0)
	}
	write("")
	run("source", "add", file)
	run("collect", "shop:acme")
	if again := run("source", "add", file).Out; !strings.Contains(again, "is as it was") {
		t.Errorf("the same file again says %s", again)
	}
	write("title: The shop\n")
	run("source", "add", file)
	run("account", "list")
	run("doc", "list", "shop_orders")
	if out := run("sql", "select id, price from shop_orders").Out; !strings.Contains(out, "price") || !strings.Contains(out, "6") {
		t.Errorf("the orders are\n%s", out)
	}
	run("collect", "shop:acme")
	clash := filepath.Join(dir, "pull.yaml")
	text := "source: pull\nbase: " + server.URL + "\nration: unknown\nstreams:\n  files: {get: /x, key: id}\n"
	if err := os.WriteFile(clash, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sluice.Run(t, nil, "source", "check", clash).Expect(t, 2, "the table pull_files is one of the source github")
	// A name and a password may have blanks: what a credential is, is its source's business.
	basic := filepath.Join(dir, "basic.yaml")
	text = "source: vault\nbase: " + server.URL + "\nauth: basic\nration: unknown\nstreams:\n  files: {get: /x, key: id}\n"
	if err := os.WriteFile(basic, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sluice.Run(t, []string{"SLUICE_SOURCE_TOKEN=ann:pass word"}, "collect", "acme", "--source", basic, "--data-dir", filepath.Join(dir, "other")).Expect(t, 0)
	sluice.Run(t, nil, "account", "purge", "vault:nobody", "--yes", "--data-dir", filepath.Join(dir, "other")).Expect(t, 1, "no account nobody at vault")
}
