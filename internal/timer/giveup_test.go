package timer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sluice/internal/timer"
	"sluice/internal/webhook"
)

// TestDeadReceiverEndsInHours: many wait for a receiver that takes one at a time
// and answers nobody. Where each stands in the queue does not decide when it is
// given up.
func TestDeadReceiverEndsInHours(t *testing.T) {
	const n = 30
	bubble(t, func(t *testing.T) {
		r := newReceiver()
		r.perHost = 1
		r.answer = func(context.Context, webhook.Message, int) webhook.Result {
			pass(15 * time.Minute)
			return webhook.Result{Error: "no answer"}
		}
		w := started(t, func(o *timer.Options) { o.Sender = r })
		now := time.Now()
		w.setMany(w.Service, n, func(i int) timer.Spec {
			return timer.Spec{ID: fmt.Sprintf("t%02d", i), At: now, Webhook: "https://example.com/"}
		})
		pass(webhook.GiveUpAfter + 4*time.Hour)
		if dead := count(t, w.store, timer.Dead); dead != n {
			t.Errorf("%d of %d are given up", dead, n)
		}
		row := w.row("t29")
		if row.Error == "" {
			t.Errorf("nobody says why: %+v", row)
		}
		// A person may have one delivered again, and it is tried.
		r.mu.Lock()
		r.answer = func(context.Context, webhook.Message, int) webhook.Result { return webhook.Result{OK: true} }
		r.mu.Unlock()
		if _, err := w.Redeliver(t.Context(), "t29"); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		w.expect("t29", timer.Completed)
	})
}
