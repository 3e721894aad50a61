package recipes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

// gate lets so many requests pass, and holds those that follow until it is opened.
type gate struct {
	next    http.Handler
	mutex   sync.Mutex
	left    int
	reached chan struct{}
	open    chan struct{}
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mutex.Lock()
	g.left--
	if g.left == 0 {
		close(g.reached)
	}
	waits := g.left < 0
	g.mutex.Unlock()
	if waits {
		select {
		case <-g.open:
		case <-r.Context().Done():
			return
		}
	}
	g.next.ServeHTTP(w, r)
}

// TestAskedWhileItCollects: sqlite3, Python and sluice itself read the tables of a
// folder into which a process collects, and of one that a service has.
func TestAskedWhileItCollects(t *testing.T) {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		testkit.Lacks(t, "sqlite3", "install it: "+err.Error())
	}
	u := sluice.NewUpstream(t, sim.Options{Seed: 5, Accounts: 2})
	g := &gate{next: u.Server, left: 20, reached: make(chan struct{}), open: make(chan struct{})}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	u.URL = server.URL
	dir := t.TempDir()
	collecting := sluice.Start(t, nil, u.Collect(dir)...)
	<-g.reached
	const question = "SELECT (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM commits) >= 0 AS some"
	check := func(sql, want string) {
		t.Helper()
		file := filepath.Join(dir, "sluice.db")
		ways := map[string][]string{
			"sqlite3": {"sqlite3", "-readonly", "-separator", ",", file, sql},
			"python":  {"python3", "-c", "import sqlite3,sys; print(*sqlite3.connect('file:'+sys.argv[1]+'?mode=ro', uri=True).execute(sys.argv[2]).fetchone(), sep=',')", file, sql},
			"sluice":  {sluice.Binary, "sql", sql, "--data-dir", dir, "--format", "csv"},
		}
		for way, args := range ways {
			command := exec.CommandContext(t.Context(), args[0], args[1:]...)
			command.Env = sluice.Environment()
			out, err := command.CombinedOutput()
			if !strings.HasSuffix(strings.TrimSpace(string(out)), want) || err != nil {
				t.Errorf("%s says %s, %v; want %s", way, out, err, want)
			}
		}
	}
	check(question, "2,1")
	if collecting.Ended() {
		t.Error("the collection has ended before it was asked")
	}
	close(g.open)
	collecting.Ends().Expect(t, 0)

	commits := 0
	for _, login := range u.Logins() {
		truth, err := u.TruthCounts(login, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		commits += truth.Commits
	}
	every := "SELECT count(*) FROM commits WHERE NOT deleted"
	check(every, fmt.Sprint(commits))
	s := sluice.UpIn(t, u, dir, nil)
	check(every, fmt.Sprint(commits))
	sluice.Run(t, nil, "sql", every, "--server", s.URL, "--format", "jsonl").Expect(t, 0)
	sluice.Run(t, nil, "sql", "SELECT credential FROM account", "--server", s.URL).Expect(t, 2, "account cannot be read", "commits")
	sluice.Run(t, nil, "sql", "SELECT *\nFROM comits", "--data-dir", dir).Expect(t, 2, "line 2, column 6", "the tables are")
}
