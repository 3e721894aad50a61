package collection_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// looks are commands that read.
var looks = [][]string{
	{"run", "list"}, {"account", "list"}, {"quota"}, {"job", "list", "--limit", "5"}, {"stats", "--global"},
	{"export", "--kind", "commits"}, {"timer", "list"}, {"audit", "list"}, {"top", "--once"},
}

// TestReadersBesideACollectionThatIsKilled has many commands read a folder while the
// program that collects into it is killed and started again: each of them answers, or
// says that the service broke off in the middle of what it had begun to print.
func TestReadersBesideACollectionThatIsKilled(t *testing.T) {
	t.Parallel()
	random := sluice.Seeded(t)
	// It lasts for longer than the kills do.
	const limit = 40
	u := sluice.NewUpstream(t, sim.Options{
		Seed: random.Uint64(), Accounts: 6, Latency: sim.Latency{Fixed: 40 * time.Millisecond, Jitter: 40 * time.Millisecond},
		Limits: sim.Limits{Window: chaosWindow, CoreLimit: limit, GraphQLLimit: limit},
	})
	dir := t.TempDir()
	args := u.Collect(dir, "--workers", strconv.Itoa(chaosWorkers),
		"--assume-limit", strconv.Itoa(limit), "--assume-window", chaosWindow.String())
	killedAtWork(t, args)
	// Readers that never pause take all processors. When the kills are over, each has
	// asked everything once.
	over := make(chan struct{})
	var readers sync.WaitGroup
	var answered [3]int
	for reader := range answered {
		readers.Go(func() {
			for i := reader; ; i++ {
				select {
				case <-over:
					if i >= reader+len(looks) {
						return
					}
				case <-time.After(100 * time.Millisecond):
				}
				a := sluice.Run(t, nil, append(looks[i%len(looks)], "--data-dir", dir)...)
				if a.Code != 0 && a.Out != "" && strings.Contains(a.Err, "broke off") {
					continue
				}
				if a.Code != 0 {
					t.Errorf("%v: exit code %d\nstderr: %s", looks[i%len(looks)], a.Code, a.Err)
				}
				answered[reader]++
			}
		})
	}
	for range 6 {
		live(t, args, time.Duration(200+random.IntN(600))*time.Millisecond, nil)
	}
	close(over)
	live(t, args, 0, nil)
	readers.Wait()
	t.Logf("%v commands answered", answered)
	if slices.Min(answered[:]) == 0 {
		t.Error("a reader was never answered")
	}
	sluice.CheckComplete(t, u, dir)
}

// killedAtWork starts a collection and kills it as soon as a run is under way.
func killedAtWork(t *testing.T, args []string) {
	t.Helper()
	p := sluice.Start(t, nil, args...)
	p.Says("run ")
	p.Signal(syscall.SIGKILL)
	_ = p.Wait() // it was killed, or was faster
}

// fingerprint is what is in a folder, with names, modes and times.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		all.WriteString(e.Name() + " " + info.Mode().String() + " " + info.ModTime().String() + " " + hex.EncodeToString(sum[:]) + "\n")
	}
	return all.String()
}

// TestReadingLeavesAFolderAsItIs: after a collection, and after one that was killed,
// any number of reads at once change nothing.
func TestReadingLeavesAFolderAsItIs(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 3, Latency: sim.Latency{Fixed: 20 * time.Millisecond}})
	for name, live := range map[string]func(*testing.T, []string){
		"killed": killedAtWork, "ended": func(t *testing.T, args []string) { sluice.Run(t, nil, args...).Expect(t, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			live(t, u.Collect(dir))
			before := fingerprint(t, dir)
			var readers sync.WaitGroup
			for _, look := range looks {
				readers.Go(func() { sluice.Run(t, nil, append(look, "--data-dir", dir)...).Expect(t, 0) })
			}
			readers.Wait()
			if after := fingerprint(t, dir); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// TestReadingBesideAServiceThatHangs: a service that does not answer does not keep
// anybody from what it has stored.
func TestReadingBesideAServiceThatHangs(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	s := sluice.Up(t, u, nil)
	login := u.Logins()[0]
	s.Completes(s.Signup(login, u.Token(login)))
	s.Signal(syscall.SIGSTOP)
	a := sluice.Run(t, nil, "run", "list", "--data-dir", s.Dir).Expect(t, 0, "does not answer")
	s.Signal(syscall.SIGCONT)
	if !strings.Contains(a.Out, "COMPLETED") {
		t.Errorf("the runs are %s", a.Out)
	}
	// What changes something needs the service.
	s.Signal(syscall.SIGKILL)
	if err := s.Wait(); err == nil {
		t.Error("it was killed, and says nothing")
	}
	sluice.Run(t, nil, "run", "list", "--data-dir", s.Dir).Expect(t, 0)
}

// TestACollectionIsHandedOn begins a collection while another one works on the same
// folder. That one does it; when it ends before, the second goes on by itself.
func TestACollectionIsHandedOn(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2, Latency: sim.Latency{Fixed: 100 * time.Millisecond}})
	dir, env := t.TempDir(), []string{"SLUICE_GITHUB_URL=" + u.URL, "SLUICE_FLOOR=0"}
	collect := func(login string) *sluice.Program {
		return sluice.Start(t, env, "collect", login, "--data-dir", dir, "--token-file", u.Tokens)
	}
	first := collect(u.Logins()[0])
	first.Says("run ")
	second := collect(u.Logins()[1])
	second.Says("run ")
	first.Signal(syscall.SIGINT)
	first.Ends().Expect(t, 130)
	second.Ends().Expect(t, 0, "going on here")
	sluice.Run(t, env, "collect", u.Logins()[0], "--data-dir", dir).Expect(t, 0)
	sluice.CheckComplete(t, u, dir)
}
