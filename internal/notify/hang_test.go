package notify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/notify"
	"sluice/internal/webhook"
)

// hanging are targets of which the first is healthy and the others take nothing
// and say nothing.
func hanging(t *testing.T, count int) notify.Targets {
	text := "[{name: healthy, type: slack, url: $HOOK, every: 1s}"
	for i := range count {
		text += fmt.Sprintf(", {name: hang%d, type: slack, url: $HOOK, every: 1s}", i)
	}
	t.Setenv("HOOK", "https://hooks.example.com/x")
	return targets(t, text+"]")
}

func hang(ctx context.Context, _ *notify.Message) webhook.Result {
	<-ctx.Done()
	return webhook.Result{Error: "no answer in time"}
}

// TestReceiversThatHang: eight of them do not delay what a ninth is told, however
// much has gathered for them.
func TestReceiversThatHang(t *testing.T) {
	all := hanging(t, 8)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, t.TempDir(), all)
		w.ticking = true
		arrived := make(chan time.Time, 100)
		for _, target := range all {
			w.Deliver(target.Name, hang)
		}
		w.Deliver("healthy", func(context.Context, *notify.Message) webhook.Result {
			arrived <- time.Now()
			return webhook.Result{OK: true}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Service.Run(ctx) }()
		for i := range 10 {
			happened := time.Now()
			w.Happened(notify.Event{Key: fmt.Sprint(i), Kind: notify.BreakerOpen, At: happened, Text: "x"})
			// A second of gathering, and at most two until it is looked at, before and after.
			if late := (<-arrived).Sub(happened); late > 6*time.Second {
				t.Errorf("event %d arrived after %v", i, late)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestTestBesideReceiversThatHang: each target is tried, whatever the others do.
func TestTestBesideReceiversThatHang(t *testing.T) {
	all := hanging(t, 8)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, t.TempDir(), all)
		tried := make(chan string, len(all))
		for _, target := range all {
			w.Deliver(target.Name, func(ctx context.Context, m *notify.Message) webhook.Result {
				tried <- m.Target
				if m.Target == "healthy" {
					return webhook.Result{OK: true}
				}
				return hang(ctx, m)
			})
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, errors.New("the request ended"))
		defer cancel()
		done, err := w.SendTest(ctx, "")
		if err != nil || len(done) != len(all) || len(tried) != len(all) || !done[0].OK || ctx.Err() != nil {
			t.Errorf("%d were tried, in %v: %+v, %v", len(tried), time.Since(begun), done, err)
		}
		for i, d := range done {
			if d.Target != all[i].Name {
				t.Errorf("result %d is of %s", i, d.Target)
			}
		}
	})
}

// TestMomentsBeforeStayUntold: what happened just before anybody was to be told is
// not told by a later look, which goes back some minutes.
func TestMomentsBeforeStayUntold(t *testing.T) {
	dir, r := t.TempDir(), startReceiver(t)
	quiet := newWorld(t, dir, nil)
	quiet.pauses("before")
	if err := quiet.state.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWorldAt(t, dir, webhookTarget(t, r.URL), quiet.clock().Add(10*time.Second))
	w.pass(time.Second)
	w.pauses("after")
	for range 3 {
		w.round()
		w.pass(time.Minute)
	}
	came := r.arrivals()
	if len(came) != 1 || !strings.Contains(string(came[0].body), `"login":"after"`) || strings.Contains(string(came[0].body), "before") {
		t.Errorf("came %d: %s", len(came), came)
	}
}
