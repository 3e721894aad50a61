package versions_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/testkit/sluice"
	"sluice/internal/timer"
)

// TestEarlierVersions lets the present program open what earlier ones left, and
// go on with it to the end.
func TestEarlierVersions(t *testing.T) {
	for _, k := range kinds {
		files, err := filepath.Glob(filepath.Join("testdata", "*", k.name))
		if err != nil || len(files) == 0 {
			t.Errorf("no %s is kept: %v", k.name, err)
		}
		for _, file := range files {
			t.Run(filepath.Base(filepath.Dir(file))+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				goOn(t, k, file)
			})
		}
	}
}

// window is that of the upstream that the present program calls: what was spent
// of those that the data knows is not believed to be back before one is over.
const window = 2 * time.Second

// goOn opens kept data and checks that everything in it is carried on.
func goOn(t *testing.T, k kind, file string) {
	text, err := os.ReadFile(contentFile(file))
	if err != nil {
		t.Fatal(err)
	}
	kept := sluice.Decode[content](t, string(text))
	u, g := upstream(t, 5000, window), sluice.SimulateGame(t)
	p := newPlace(t, k, t.TempDir())
	k.load(t, file, p.where())
	s := p.up(u, g, "--assume-window", window.String())
	for _, id := range slices.Concat(kept.Unfinished, kept.Completed) {
		s.Completes(id)
	}
	p.checkTimers(s)
	p.checkSnapshots(s, g, kept)
	s.Signal(syscall.SIGTERM)
	s.Ends().Expect(t, 0)
	if calls := u.Audit().Calls; calls == 0 {
		t.Error("everything was collected before: the data was not stopped in the middle")
	}
	checkData(t, p, u)
}

// checkTimers checks that what was due has fired, and nothing else.
func (p *place) checkTimers(s *sluice.Service) {
	p.t.Helper()
	is := func(id, status string) timerAnswer {
		p.t.Helper()
		answer := sluice.Decode[timerAnswer](p.t, s.Get("/api/v1/timers/"+id))
		if answer.Status != status {
			p.t.Errorf("the timer %s is %+v, not %s", id, answer, status)
		}
		return answer
	}
	p.completes(s, timerSoon)
	is(timerSoon, "COMPLETED")
	// Its row is looked at when the program has ended: it is written after this is said.
	s.Says("a timer was not delivered; trying again")
	is(timerCanceled, "CANCELED")
	if later := is(timerLater, "WAITING"); !later.At.Equal(farFuture) {
		p.t.Errorf("the timer of the far future is %+v", later)
	}
	fired := sluice.Decode[struct{ Items []completion }](s.T, s.Get("/api/v1/completions?hours=1")).Items
	if i := slices.IndexFunc(fired, func(c completion) bool { return c.Timer == timerSoon }); i < 0 || string(fired[i].Payload) != `{"of":"soon"}` {
		s.T.Errorf("what fired is %+v", fired)
	}
}

// checkSnapshots checks that values are read as they were stored, and that what
// waited is refreshed.
func (p *place) checkSnapshots(s *sluice.Service, g *sluice.Game, kept content) {
	p.t.Helper()
	c := p.client(s)
	for _, ocid := range kept.Waiting {
		g.IsTrue(ocid, p.fresh(c, ocid).Snapshot)
	}
	for _, ocid := range kept.Snapshots {
		first := sluice.Decode[snapshotAnswer](s.T, s.Get("/api/v1/snapshots/maplestory/"+ocid))
		g.IsTrue(ocid, first.Snapshot)
		p.fresh(c, ocid)
	}
	if text := s.Get("/api/v1/dlq"); !strings.Contains(text, kept.Letter) {
		s.T.Errorf("the dead letter of %s is gone: %s", kept.Letter, text)
	}
}

// checkData compares the documents with the truth, and the schema with that of
// data that was never another version's: who edits a migration that was shipped
// makes them differ.
func checkData(t *testing.T, p *place, u *sluice.Upstream) {
	t.Helper()
	svc := p.look()
	sluice.EqualsTruth(t, svc, u, sluice.NoResources)
	if hooked, err := svc.Timers.Timer(t.Context(), timerHooked); err != nil || hooked.Status != timer.Delivering || hooked.Tries == 0 {
		t.Errorf("the timer whose webhook nobody answers is %+v, %v", hooked, err)
	}
	if err := svc.Close(t.Context()); err != nil {
		t.Error(err)
	}
	fresh := newPlace(t, p.kind, t.TempDir())
	if err := fresh.look().Close(t.Context()); err != nil {
		t.Error(err)
	}
	have, want := p.schema(t, p.where()), fresh.schema(t, fresh.where())
	if len(want) < 20 {
		t.Errorf("the schema has %d lines", len(want))
	}
	for _, line := range have {
		if !slices.Contains(want, line) {
			t.Errorf("only in what an earlier version made: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(have, line) {
			t.Errorf("missing in what an earlier version made: %s", line)
		}
	}
}
