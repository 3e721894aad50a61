package notify_test

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"sluice/internal/notify"
	"sluice/internal/webhook"
)

// dieIn names the folder in which a process of the test is to die, and dieAt says
// where to send to.
const (
	dieIn = "SLUICE_TEST_NOTIFY_DIES_IN"
	dieAt = "SLUICE_TEST_NOTIFY_DIES_AT"
)

// dies is what the process does that is killed.
func dies(t *testing.T, dir string) {
	w := newWorld(t, dir, webhookTarget(t, os.Getenv(dieAt)))
	w.pauses("ada")
	w.round()
	w.pass(time.Minute)
	if os.Getenv("SLUICE_TEST_NOTIFY_BEFORE") != "" {
		w.BeforeSending(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	}
	w.round()
	t.Error("it is still alive")
}

// TestKilled kills -9 a process between claiming and sending, and another after it
// has sent and before it could say so: nothing is lost, and what is sent twice has
// the same id.
func TestKilled(t *testing.T) {
	if dir := os.Getenv(dieIn); dir != "" {
		dies(t, dir)
		return
	}
	for _, c := range []struct {
		name   string
		before bool
		sent   int
	}{{"before it has sent", true, 1}, {"after it has sent", false, 2}} {
		t.Run(c.name, func(t *testing.T) {
			dir, r, started := t.TempDir(), startReceiver(t), make(chan struct{})
			command := exec.Command(os.Args[0], "-test.run=^TestKilled$", "-test.v")
			command.Env = append(os.Environ(), dieIn+"="+dir, dieAt+"="+r.URL)
			if c.before {
				command.Env = append(command.Env, "SLUICE_TEST_NOTIFY_BEFORE=1")
			} else {
				r.mu.Lock()
				r.on = func() { <-started; _ = command.Process.Kill(); <-t.Context().Done() }
				r.mu.Unlock()
			}
			var out bytes.Buffer
			command.Stdout, command.Stderr = &out, &out
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			close(started)
			err := command.Wait()
			if command.ProcessState == nil || command.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("it was not killed: %v %s", err, out.String())
			}
			r.mu.Lock()
			r.on = nil
			r.mu.Unlock()
			w := newWorld(t, dir, webhookTarget(t, r.URL))
			if n := len(w.list(notify.Query{State: notify.Waiting})); n != 1 {
				t.Fatalf("%d messages wait", n)
			}
			w.pass(10 * time.Minute)
			w.round()
			w.pass(time.Hour)
			w.round()
			came := r.arrivals()
			if len(came) != c.sent || came[0].header.Get(webhook.HeaderID) != came[len(came)-1].header.Get(webhook.HeaderID) {
				t.Errorf("came %d times: %s", len(came), came)
			}
			if n := len(w.list(notify.Query{State: notify.Sent})); n != 1 {
				t.Errorf("%d messages were sent", n)
			}
		})
	}
}
