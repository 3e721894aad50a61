package streams_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// TestLetters: what a receiver refuses is set aside and counted, survives a kill -9, and
// comes once the receiver takes it.
func TestLetters(t *testing.T) {
	receiver := newReceiver(t)
	receiver.refuses.Store(true)
	env := []string{"SLUICE_SINK=hook=" + receiver.URL + ",file=sqlite:" + t.TempDir() + "/copy.db", "SLUICE_WEBHOOK_SECRET=" + secret}
	u := sluice.NewUpstream(t, sim.Options{Seed: sluice.Seeded(t).Uint64(), Accounts: 1})
	dir := t.TempDir()
	up := func() *sluice.Service { return sluice.UpIn(t, u, dir, env, "--floor", "0", "--webhook-allow-private") }
	s := up()
	s.Completes(s.Signup(u.Logins()[0], u.Token(u.Logins()[0])))
	caughtUp(t, s, 2)
	s.Signal(syscall.SIGKILL)
	_ = s.Wait()

	s = up()
	caughtUp(t, s, 2)
	sluiceSink := func(args ...string) sluice.Answer {
		t.Helper()
		return sluice.Run(t, nil, append([]string{"sink", "--data-dir", dir}, args...)...)
	}
	letters := strings.Split(strings.TrimSpace(sluiceSink("letters", "hook").Expect(t, 0).Out), "\n")[1:]
	if len(letters) == 0 || !strings.Contains(letters[0], " 422 ") {
		t.Fatalf("the letters are %q", letters)
	}
	if list := sluiceSink("list").Expect(t, 0).Out; !strings.Contains(list, " "+strconv.Itoa(len(letters))+" ") {
		t.Errorf("%d letters are not in the list: %s", len(letters), list)
	}
	if !strings.Contains(s.Get("/metrics"), `sluice_sink_letters{sink="hook"} `+strconv.Itoa(len(letters))+"\n") {
		t.Error("the metric does not count them")
	}
	first := strings.Fields(letters[0])[0]
	if a := sluiceSink("redrive", "hook", first); a.Code == 0 || !strings.Contains(a.Err, "stays") {
		t.Errorf("sent to a receiver that refuses still: %+v", a)
	}
	if a := sluiceSink("letters", "none"); a.Code == 0 || !strings.Contains(a.Err, "there is no sink none") {
		t.Errorf("letters of a sink that is not there: %+v", a)
	}
	if a := sluiceSink("letters", "file"); a.Code == 0 || !strings.Contains(a.Err, "only webhooks") {
		t.Errorf("letters of a file: %+v", a)
	}
	receiver.refuses.Store(false)
	sluiceSink("redrive", "hook", "--all").Expect(t, 0)
	if a := sluiceSink("discard", "hook", first); a.Code == 0 {
		t.Errorf("a letter that was taken can be discarded: %+v", a)
	}
	compare(t, dir, map[string]place{"hook": {receiver.URL, receiver.table}}, s)
}
