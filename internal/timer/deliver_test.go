package timer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
	"sluice/internal/webhook"
)

// receiver is a timer.Sender whose receivers a test plays.
type receiver struct {
	// answer is told which attempt of which message it is.
	answer  func(ctx context.Context, m webhook.Message, attempt int) webhook.Result
	perHost int

	mu       sync.Mutex
	underWay map[string]int
	got      map[string][]time.Time
	bodies   map[string][]byte
}

func newReceiver() *receiver {
	return &receiver{
		perHost: 8, underWay: map[string]int{}, got: map[string][]time.Time{}, bodies: map[string][]byte{},
		answer: func(context.Context, webhook.Message, int) webhook.Result { return webhook.Result{OK: true} },
	}
}

func (r *receiver) Check(context.Context, string) error { return nil }

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

func (r *receiver) TryAcquire(address string) (func(), bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.underWay[host(address)] >= r.perHost {
		return nil, false
	}
	r.underWay[host(address)]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.underWay[host(address)]--
	}, true
}

func (r *receiver) Send(ctx context.Context, m webhook.Message) webhook.Result {
	r.mu.Lock()
	r.got[m.ID] = append(r.got[m.ID], time.Now())
	r.bodies[m.ID] = m.Body
	n := len(r.got[m.ID])
	r.mu.Unlock()
	return r.answer(ctx, m, n)
}

func (r *receiver) times(id string) []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]time.Time{}, r.got[id]...)
}

// silent is a receiver that never answers.
func silent(ctx context.Context) webhook.Result {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	<-ctx.Done()
	return webhook.Result{Error: "no answer"}
}

// TestWebhookIsSignedAndSaysEverything sends to a real server.
func TestWebhookIsSignedAndSaysEverything(t *testing.T) {
	type request struct {
		header http.Header
		body   []byte
	}
	got := make(chan request, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- request{r.Header, body}
	}))
	defer server.Close()
	w := started(t, func(o *timer.Options) {
		o.Sender = realSender(t, webhook.Options{Secret: secret, AllowPrivate: true})
	})
	changed, end := w.Watch()
	defer end()
	at := time.Now().Add(50 * time.Millisecond).Truncate(time.Microsecond).UTC()
	if _, err := w.Set(t.Context(), timer.Spec{ID: "order.7", At: at, Payload: []byte(`{"n":[1,2]}`), Webhook: server.URL + "/hook"}); err != nil {
		t.Fatal(err)
	}
	r := <-got
	if err := webhook.Verify(secret, r.header, r.body, time.Now(), time.Minute); err != nil {
		t.Error(err)
	}
	if err := webhook.Verify(secret+"x", r.header, r.body, time.Now(), time.Minute); err == nil {
		t.Error("another secret verifies")
	}
	var said struct {
		Type     string
		ID       string
		Due      time.Time
		Fired    time.Time
		Lateness float64 `json:"lateness_ms"`
		Late     *bool
		Server   string
		Payload  json.RawMessage
	}
	if err := json.Unmarshal(r.body, &said); err != nil {
		t.Fatal(err)
	}
	for w.row("order.7").Status != timer.Completed {
		<-changed
	}
	row := w.row("order.7")
	c := row.Completion() // on a busy machine it may be late
	if said.Type != "timer.completed" || said.ID != "order.7" || !said.Due.Equal(at) || !said.Fired.Equal(row.FiredAt) || said.Server != "alone" ||
		said.Late == nil || *said.Late != c.Late || string(said.Payload) != `{"n":[1,2]}` || said.Lateness != float64(c.Lateness.Microseconds())/1000 {
		t.Errorf("the body is %s, the row %+v", r.body, row)
	}
	if row.Tries != 1 || row.Error != "" || w.Counters().Delivered.Load() != 1 {
		t.Errorf("the row is %+v", row)
	}
}

func TestWebhookIsRetriedUntilGivenUpAndRedelivered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newReceiver()
		down := true
		r.answer = func(context.Context, webhook.Message, int) webhook.Result {
			if down {
				return webhook.Result{Status: 500, Error: "the receiver answered 500"}
			}
			return webhook.Result{OK: true}
		}
		w := started(t, func(o *timer.Options) { o.Sender = r })
		at := time.Now().Add(time.Minute)
		w.set("a", at, "https://example.com/")
		pass(time.Minute)
		if row := w.expect("a", timer.Delivering); row.Tries != 1 || row.Error == "" || row.NextAt.Before(time.Now()) {
			t.Errorf("after the first try: %+v", row)
		}
		pass(5 * time.Hour)
		tries := r.times("a")
		if len(tries) != webhook.MaxTries || !tries[0].Equal(at) {
			t.Fatalf("tried at %v", tries)
		}
		for i, longest := 1, time.Second; i < len(tries); i, longest = i+1, min(2*longest, time.Hour) {
			if gap := tries[i].Sub(tries[i-1]); gap <= longest/2 || gap > longest {
				t.Errorf("%v between try %d and the next, want more than %v and at most %v", gap, i, longest/2, longest)
			}
		}
		row := w.expect("a", timer.Dead)
		if row.Tries != webhook.MaxTries || row.Error != "the receiver answered 500" || !row.NextAt.IsZero() {
			t.Errorf("the row is %+v", row)
		}
		if c := all(t, w); len(c) != 1 || c[0].Success || c[0].Status != timer.Dead || c[0].Late {
			t.Errorf("completions: %+v", c)
		}
		n := w.Counters()
		if n.Retried.Load() != webhook.MaxTries-1 || n.Dead.Load() != 1 || n.Delivered.Load() != 0 || n.Fired.Load() != 1 {
			t.Errorf("counters: %+v", n)
		}
		if _, err := w.Reschedule(t.Context(), "a", time.Now()); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("reschedule: %v", err)
		}
		down = false
		if again, err := w.Redeliver(t.Context(), "a"); err != nil || again.Status != timer.Delivering || again.Tries != 0 {
			t.Errorf("%+v, %v", again, err)
		}
		synctest.Wait()
		row = w.expect("a", timer.Completed)
		if got := r.times("a"); len(got) != webhook.MaxTries+1 || !got[webhook.MaxTries].Equal(time.Now()) || row.Tries != 1 {
			t.Errorf("delivered at %v: %+v", got, row)
		}
		if c := all(t, w); len(c) != 1 || !c[0].Success || !c[0].FiredAt.Equal(at) {
			t.Errorf("completions: %+v", c)
		}
		if _, err := w.Redeliver(t.Context(), "a"); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("redeliver what was delivered: %v", err)
		}
	})
}

func TestWebhookAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newReceiver()
		r.answer = func(_ context.Context, m webhook.Message, n int) webhook.Result {
			switch {
			case m.ID == "gone":
				return webhook.Result{Status: 410, Error: "gone", Permanent: true}
			case n == 1:
				return webhook.Result{Status: 429, Error: "busy", RetryAfter: 17 * time.Minute}
			}
			return webhook.Result{OK: true}
		}
		w := started(t, func(o *timer.Options) { o.Sender = r })
		now := time.Now()
		w.set("gone", now, "https://one.example/")
		w.set("busy", now, "https://two.example/")
		synctest.Wait()
		if row := w.expect("gone", timer.Dead); row.Tries != 1 || row.Error != "gone" {
			t.Errorf("the row is %+v", row)
		}
		pass(time.Hour)
		w.expect("busy", timer.Completed)
		if got := r.times("busy"); len(got) != 2 || got[1].Sub(got[0]) != 17*time.Minute {
			t.Errorf("tried at %v, want 17 minutes between", got)
		}
		if got := r.times("gone"); len(got) != 1 {
			t.Errorf("tried at %v", got)
		}
	})
}

// TestADeadReceiverDelaysNobodyElse: more webhooks of a host that never answers
// than there are senders, queue and all.
func TestADeadReceiverDelaysNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newReceiver()
		r.answer = func(ctx context.Context, m webhook.Message, _ int) webhook.Result {
			if host(m.URL) == "dead.example" {
				return silent(ctx)
			}
			return webhook.Result{OK: true}
		}
		w := started(t, func(o *timer.Options) { o.Sender = r })
		now := time.Now()
		w.setMany(w.Service, 1500, func(i int) timer.Spec {
			return timer.Spec{ID: fmt.Sprint("dead-", i), At: now, Webhook: "https://dead.example/"}
		})
		w.setMany(w.Service, 60, func(i int) timer.Spec {
			return timer.Spec{ID: fmt.Sprint("plain-", i), At: now.Add(time.Duration(i) * time.Second)}
		})
		w.setMany(w.Service, 60, func(i int) timer.Spec {
			return timer.Spec{ID: fmt.Sprint("other-", i), At: now.Add(time.Duration(i) * time.Second), Webhook: fmt.Sprintf("https://host-%d.example/", i%3)}
		})
		pass(time.Minute)
		for i := range 60 {
			w.expect(fmt.Sprint("plain-", i), timer.Completed)
			w.expect(fmt.Sprint("other-", i), timer.Completed)
			if got := r.times(fmt.Sprint("other-", i)); len(got) != 1 || !got[0].Equal(now.Add(time.Duration(i)*time.Second)) {
				t.Errorf("webhook %d was sent at %v, want at %v", i, got, now.Add(time.Duration(i)*time.Second))
			}
		}
		got := all(t, w)
		if len(got) != 1620 {
			t.Errorf("%d completions, want 1620", len(got))
		}
		for _, c := range got {
			if c.Lateness != 0 {
				t.Errorf("%s is late: %v", c.Timer, c.Lateness)
			}
		}
		if n := count(t, w.store, timer.Delivering); n != 1500 {
			t.Errorf("%d wait for the dead receiver, want 1500", n)
		}
	})
}

// TestOneBusyReceiver: all webhooks of a service may lead to one host, which
// has few places but answers soon.
func TestOneBusyReceiver(t *testing.T) {
	const n = 4000
	bubble(t, func(t *testing.T) {
		r := newReceiver()
		r.answer = func(context.Context, webhook.Message, int) webhook.Result {
			time.Sleep(10 * time.Millisecond)
			return webhook.Result{OK: true}
		}
		w := started(t, func(o *timer.Options) { o.Sender = r })
		now := time.Now()
		w.setMany(w.Service, n, func(i int) timer.Spec {
			return timer.Spec{ID: fmt.Sprint(i), At: now, Webhook: "https://busy.example/"}
		})
		// Eight at a time of 10 ms each are 800 in a second.
		for count(t, w.store, timer.Delivering) > 0 {
			pass(time.Second)
		}
		took := time.Since(now)
		t.Logf("%d webhooks in %v", n, took)
		if took > 2*n/800*time.Second {
			t.Errorf("took %v, more than twice as long as it must", took)
		}
		for i := range n {
			if got := r.times(fmt.Sprint(i)); len(got) != 1 {
				t.Errorf("%d was sent at %v", i, got)
			}
		}
	})
}

// TestStopWhileAWebhookIsUnderWay: the attempt that is broken off does not
// count, not even as the last, and the next start makes it.
func TestStopWhileAWebhookIsUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newReceiver()
		hang := true
		r.answer = func(ctx context.Context, _ webhook.Message, n int) webhook.Result {
			switch {
			case n < webhook.MaxTries:
				return webhook.Result{Error: "not yet"}
			case hang:
				return silent(ctx)
			}
			return webhook.Result{OK: true}
		}
		w := started(t, func(o *timer.Options) { o.Sender = r })
		w.set("a", time.Now(), "https://example.com/")
		for len(r.times("a")) < webhook.MaxTries {
			pass(time.Second)
		}
		w.Stop(t.Context())
		if row := w.expect("a", timer.Delivering); row.Tries != webhook.MaxTries-1 {
			t.Errorf("the row is %+v", row)
		}
		hang = false
		w.start(w.Service)
		pass(time.Minute)
		if row := w.expect("a", timer.Completed); row.Tries != webhook.MaxTries || w.Counters().Dead.Load() != 0 {
			t.Errorf("the row is %+v", row)
		}
	})
}

func TestHookIsRetried(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newReceiver()
		var calls []timer.Completion
		w := started(t, func(o *timer.Options) {
			o.Sender = r
			o.Hook = func(_ context.Context, c timer.Completion) error {
				if calls = append(calls, c); len(calls)%3 != 0 {
					return errors.New("not now")
				}
				return nil
			}
		})
		at := time.Now().Add(time.Second).Truncate(time.Microsecond)
		w.set("plain", at, "")
		pass(time.Second)
		if row := w.expect("plain", timer.Delivering); row.Tries != 1 || row.Error != "not now" {
			t.Errorf("the row is %+v", row)
		}
		pass(time.Minute)
		if row := w.expect("plain", timer.Completed); row.Tries != 3 || row.Error != "" || len(calls) != 3 {
			t.Errorf("after %d calls the row is %+v", len(calls), row)
		}
		for _, c := range calls {
			if c.Timer != "plain" || !c.FiredAt.Equal(at) || !c.Due.Equal(at) {
				t.Errorf("the hook was told %+v", c)
			}
		}
		w.set("another", time.Now(), "")
		pass(time.Minute)
		w.set("webhook", time.Now(), "https://example.com/")
		pass(time.Minute)
		w.expect("webhook", timer.Completed)
		if got := r.times("webhook"); len(got) != 1 || len(calls) != 9 {
			t.Errorf("the webhook was called at %v after %d calls of the hook: want once, when the hook succeeded", got, len(calls))
		}
	})
}
