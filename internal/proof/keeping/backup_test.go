package keeping_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/backup"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

func world(t *testing.T) *sluice.Upstream {
	t.Helper()
	return sluice.NewUpstream(t, sim.Options{
		Seed: 5, Accounts: 4, NoPollInterval: true,
		Shape:   &sim.Shape{Repos: sim.Between(2, 4), Commits: sim.Between(50, 260), Issues: sim.Between(5, 130), Pulls: sim.Between(5, 130)},
		Latency: sim.Latency{Fixed: 30 * time.Millisecond},
	})
}

// TestRestoredUnderLoad collects, backs up while jobs run, is killed, restores what
// was backed up and goes on: the result is the truth.
func TestRestoredUnderLoad(t *testing.T) {
	u := world(t)
	// One call is not answered before all this is over, so that the work has a
	// middle, however long a backup takes.
	last := u.Logins()[len(u.Logins())-1]
	u.FailNext(func(r *http.Request) bool {
		return sim.WithToken(u.Token(last))(r) && sim.PathContains("/events")(r)
	}, sim.Forever, sim.Delayed(time.Hour))
	s := sluice.Up(t, u, nil, "--workers", "3")
	var runs []int
	for _, login := range u.Logins() {
		runs = append(runs, s.Signup(login, u.Token(login)))
	}
	// Backups follow each other while the runs go on, until one was made in the
	// middle of the work.
	file, made := "", backup.Manifest{}
	for i := 0; made.Counts["document"] == 0; i++ {
		file = filepath.Join(t.TempDir(), "a.backup")
		made = sluice.Decode[backup.Manifest](t, sluice.Run(t, nil, "backup", file, "--data-dir", s.Dir, "-o", "json").Expect(t, 0).Out)
	}
	calls := u.Audit().Calls
	s.Signal(syscall.SIGKILL)
	_ = s.Wait()
	u.ClearHooks()

	sluice.Run(t, nil, "restore", file, "--data-dir", s.Dir).Expect(t, 1, "has data", "--force")
	sluice.Run(t, nil, "restore", cut(t, file), "--data-dir", s.Dir, "--force").Expect(t, 1, "nothing was changed")
	answer := sluice.Run(t, nil, "restore", file, "--data-dir", s.Dir, "--force").Expect(t, 0)
	if !strings.Contains(answer.Out, "before-restore-") {
		t.Errorf("it does not say where the old data is: %s", answer.Out)
	}
	s = sluice.UpIn(t, u, s.Dir, nil, "--floor", "0")
	for _, run := range runs {
		s.Completes(run)
	}
	s.Signal(syscall.SIGTERM)
	s.Ends().Expect(t, 0)
	if u.Audit().Calls == calls {
		t.Error("everything was collected when it was backed up: the backup was not made in the middle")
	}
	sluice.CheckEqual(t, u, s.Dir)
}

// cut is a backup that was not copied to its end.
func cut(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	short := file + ".cut"
	if err := os.WriteFile(short, data[:len(data)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	return short
}
