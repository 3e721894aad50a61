package wiring_test

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/wiring"
)

// folder is a data folder whose service is opened again and again.
type folder struct {
	*testing.T
	dir string
}

func (f folder) key() string { return filepath.Join(f.dir, "sluice.key") }

func (f folder) open() *wiring.Service {
	f.Helper()
	svc, err := wiring.Open(f.Context(), wiring.Options{
		Config: config.Embedded(f.dir), Holder: "test", Quota: wiring.NoQuota(), Sources: []source.Source{&enginetest.Noop{Jobs: 3, FanOut: 10}},
	})
	if err != nil {
		f.Fatal(err)
	}
	return svc
}

func (f folder) close(svc *wiring.Service) {
	f.Helper()
	if err := svc.Close(f.Context()); err != nil {
		f.Fatal(err)
	}
}

func (f folder) signup(svc *wiring.Service, login string) (domain.Account, domain.Run) {
	f.Helper()
	a, run, err := svc.Engine.Signup(f.Context(), engine.Signup{Source: "noop", Login: login, Token: "token-" + login})
	if err != nil {
		f.Fatal(err)
	}
	return a, run
}

// completes demands that a run ends well.
func (f folder) completes(svc *wiring.Service, run int64) {
	f.Helper()
	if ended, err := svc.WaitRun(f.Context(), run); err != nil || ended.Status != domain.RunCompleted {
		f.Fatalf("run %d ended as %+v, %v", run, ended, err)
	}
}

// paused waits until an account is paused and returns why.
func (f folder) paused(svc *wiring.Service, id int64) string {
	f.Helper()
	changed, end := svc.Engine.Watch()
	defer end()
	for {
		a, err := svc.State.Account(f.Context(), id)
		if err != nil {
			f.Fatal(err)
		}
		if a.State == domain.AccountPaused {
			return a.Reason
		}
		select {
		case <-changed:
		case <-f.Context().Done():
			f.Fatalf("the account is %+v", a)
		}
	}
}

func (f folder) start(svc *wiring.Service) {
	f.Helper()
	if err := svc.Start(f.Context()); err != nil {
		f.Fatal(err)
	}
}

// TestUnreadableCredentialStopsItsAccountAlone changes the key between two
// starts, with jobs of both accounts waiting.
func TestUnreadableCredentialStopsItsAccountAlone(t *testing.T) {
	f := folder{t, t.TempDir()}
	svc := f.open()
	ann, before := f.signup(svc, "ann")
	f.close(svc)
	old, err := os.ReadFile(f.key())
	if err != nil {
		t.Fatal(err)
	}
	other := hex.EncodeToString(make([]byte, 32)) + "\n"
	if err := os.WriteFile(f.key(), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}

	svc = f.open()
	_, run := f.signup(svc, "bob")
	f.start(svc)
	f.completes(svc, run.ID)
	if reason := f.paused(svc, ann.ID); !strings.Contains(reason, "restore "+f.key()) || !strings.Contains(reason, "sluice account set") {
		t.Errorf("ann is paused, for %q", reason)
	}
	// Resumed without a key it is paused again, and no run is left behind.
	if _, err := svc.Engine.CancelRun(t.Context(), before.ID, "test"); err != nil {
		t.Fatal(err)
	}
	if err := svc.Engine.ResumeAccount(t.Context(), ann.ID); err != nil {
		t.Fatal(err)
	}
	_, err = svc.Engine.StartRun(t.Context(), ann.ID, domain.TriggerManual, domain.PriorityHigh)
	if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "restore ") {
		t.Errorf("starting a run: %v", err)
	}
	if runs, err := svc.State.Runs(t.Context(), state.RunQuery{AccountID: ann.ID, ActiveOnly: true, Limit: 10}); err != nil || len(runs) != 0 {
		t.Errorf("left behind: %+v, %v", runs, err)
	}
	f.paused(svc, ann.ID)
	f.close(svc)

	// With the key back, the account goes on when it is resumed.
	if err := os.WriteFile(f.key(), []byte(other+string(old)), 0o600); err != nil {
		t.Fatal(err)
	}
	svc = f.open()
	f.start(svc)
	if err := svc.Engine.ResumeAccount(t.Context(), ann.ID); err != nil {
		t.Fatal(err)
	}
	again, err := svc.Engine.StartRun(t.Context(), ann.ID, domain.TriggerManual, domain.PriorityHigh)
	if err != nil {
		t.Fatal(err)
	}
	f.completes(svc, again.ID)
	f.close(svc)
}

// TestMissingKeyFile takes the key file away while jobs wait.
func TestMissingKeyFile(t *testing.T) {
	f := folder{t, t.TempDir()}
	svc := f.open()
	if _, err := os.Stat(f.key()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key was made before there is anything to seal: %v", err)
	}
	ann, run := f.signup(svc, "ann")
	f.close(svc)
	if err := os.Remove(f.key()); err != nil {
		t.Fatal(err)
	}

	svc = f.open()
	f.start(svc)
	if reason := f.paused(svc, ann.ID); !strings.Contains(reason, "restore "+f.key()) {
		t.Errorf("ann is paused, for %q", reason)
	}
	if _, _, err := svc.Engine.Signup(t.Context(), engine.Signup{Source: "noop", Login: "bob", Token: "token-bob"}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("another account was sealed: %v", err)
	}
	f.close(svc)
	if _, err := os.Stat(f.key()); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a key was made: %v", err)
	}

	// A new key, made on purpose, and a new token do as well as the old one.
	if err := os.WriteFile(f.key(), []byte(strings.Repeat("ab", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	svc = f.open()
	f.start(svc)
	if _, err := svc.Engine.PutAccount(t.Context(), engine.Signup{Source: "noop", Login: "ann", Token: "another"}); err != nil {
		t.Fatal(err)
	}
	f.completes(svc, run.ID)
	f.close(svc)
}
