package timer_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/due"
	"sluice/internal/testkit/faulty"
	"sluice/internal/timer"
	"sluice/internal/webhook"
)

const secret = "a plain secret of enough bytes"

func realSender(tb testing.TB, o webhook.Options) *webhook.Sender {
	tb.Helper()
	s, err := webhook.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// TestBadInput: what is refused leaves nothing behind.
func TestBadInput(t *testing.T) {
	at := time.Now().Add(time.Hour)
	good := timer.Spec{ID: "good", At: at}
	with := func(change func(s *timer.Spec)) timer.Spec {
		s := timer.Spec{ID: "bad", At: at}
		change(&s)
		return s
	}
	hook := func(url string) timer.Spec { return with(func(s *timer.Spec) { s.Webhook = url }) }
	id := func(id string) timer.Spec { return with(func(s *timer.Spec) { s.ID = id }) }
	signed := realSender(t, webhook.Options{Secret: secret})
	for name, c := range map[string]struct {
		spec   timer.Spec
		sender timer.Sender
		says   string
	}{
		"no instant":           {timer.Spec{ID: "bad"}, signed, "between 1970 and 2200"},
		"before 1970":          {with(func(s *timer.Spec) { s.At = time.Unix(-1, 0) }), signed, "between 1970 and 2200"},
		"after 2200":           {with(func(s *timer.Spec) { s.At = time.Date(2200, 1, 1, 0, 0, 0, 1, time.UTC) }), signed, "between 1970 and 2200"},
		"no id":                {id(""), signed, "1 to 200"},
		"a long id":            {id(strings.Repeat("a", 201)), signed, "1 to 200"},
		"a reserved id":        {id(due.RebuildID), signed, "beginning with a letter or digit"},
		"an id with a space":   {id("a b"), signed, "cannot be a timer's id"},
		"an id with a slash":   {id("a/b"), signed, "cannot be a timer's id"},
		"an id of two lines":   {id("a\nb"), signed, "cannot be a timer's id"},
		"an id that is no one": {id("ä"), signed, "cannot be a timer's id"},
		"a large payload":      {with(func(s *timer.Spec) { s.Payload = []byte(`"` + strings.Repeat("x", timer.MaxPayload-1) + `"`) }), signed, "at most 65536"},
		"no JSON":              {with(func(s *timer.Spec) { s.Payload = []byte(`{"a":`) }), signed, "not JSON"},
		"two JSONs":            {with(func(s *timer.Spec) { s.Payload = []byte(`1 2`) }), signed, "not JSON"},
		"a long webhook":       {hook("https://example.com/" + strings.Repeat("x", 2000)), signed, "at most 2000"},
		"loopback":             {hook("http://127.0.0.1/"), signed, "public internet (loopback)"},
		"this machine":         {hook("http://localhost:80/"), signed, "this machine"},
		"IPv6 loopback":        {hook("http://[::1]/"), signed, "public internet (loopback)"},
		"private":              {hook("https://10.1.2.3/"), signed, "public internet (private)"},
		"metadata":             {hook("http://169.254.169.254/latest/meta-data/"), signed, "public internet (link-local)"},
		"mapped metadata":      {hook("http://[::ffff:169.254.169.254]/"), signed, "public internet (IPv4-mapped)"},
		"metadata as number":   {hook("http://2852039166/"), signed, "number"},
		"another scheme":       {hook("file:///etc/passwd"), signed, "https://"},
		"a password":           {hook("https://u:p@example.com/"), signed, "password"},
		"no secret":            {hook("https://example.com/"), realSender(t, webhook.Options{}), "SLUICE_WEBHOOK_SECRET"},
		"no sender":            {hook("https://example.com/"), nil, "sends none"},
		"named twice":          {good, signed, "named twice"},
	} {
		t.Run(name, func(t *testing.T) {
			f := faulty.NewPlan()
			w := newWorld(t, func(o *timer.Options) {
				o.Trigger, o.Sender, o.Signals = faulty.NewDueSet(o.Trigger, f), c.sender, newSignals()
			})
			_, err := w.Set(t.Context(), good, c.spec)
			if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want an error of code invalid that says %q", err, c.says)
			}
			if found, err := w.Timers(t.Context(), timer.Query{}); err != nil || len(found) > 0 {
				t.Errorf("stored: %+v, %v", found, err)
			}
			if n := f.Calls(faulty.Any); n > 0 {
				t.Errorf("the trigger was told %d times", n)
			}
		})
	}
}

func TestTheSameIDAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := started(t, func(o *timer.Options) { o.Sender = newReceiver() })
		at := time.Now().Add(time.Hour)
		first := timer.Spec{ID: "a", At: at, Payload: []byte(`{"n":1}`), Webhook: "https://one.example/"}
		set := func(change func(s *timer.Spec)) (timer.Stored, error) {
			again := first
			change(&again)
			stored, err := w.Set(t.Context(), again)
			if len(stored) != 1 {
				t.Fatalf("%+v, %v", stored, err)
			}
			return stored[0], err
		}
		if one, err := set(func(*timer.Spec) {}); err != nil || !one.New {
			t.Fatalf("%+v, %v", one, err)
		}
		pass(time.Minute)
		for name, change := range map[string]func(s *timer.Spec){
			"all the same":        func(*timer.Spec) {},
			"written differently": func(s *timer.Spec) { s.Payload = []byte(` { "n" : 1 } `) },
			"in another zone":     func(s *timer.Spec) { s.At = at.In(time.FixedZone("", 3600)) },
		} {
			if one, err := set(change); err != nil || one.New || !one.At.Equal(at) || !one.SetAt.Before(time.Now()) {
				t.Errorf("%s: %+v, %v", name, one, err)
			}
		}
		for name, change := range map[string]func(s *timer.Spec){
			"another instant": func(s *timer.Spec) { s.At = at.Add(time.Microsecond) },
			"another payload": func(s *timer.Spec) { s.Payload = []byte(`{"n":2}`) },
			"no payload":      func(s *timer.Spec) { s.Payload = nil },
			"another webhook": func(s *timer.Spec) { s.Webhook = "https://two.example/" },
		} {
			one, err := set(change)
			if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "other content") || one.New {
				t.Errorf("%s: %+v, %v", name, one, err)
			}
		}
		if row := w.expect("a", timer.Waiting); string(row.Payload) != `{"n":1}` || !row.At.Equal(at) || row.Webhook != first.Webhook {
			t.Errorf("the first did not stay: %+v", row)
		}
		if n := w.Counters().Set.Load(); n != 1 {
			t.Errorf("%d were set, want 1", n)
		}
		// Of several the others are set.
		first.At = at.Add(time.Second)
		stored, err := w.Set(t.Context(), timer.Spec{ID: "b", At: at}, first, timer.Spec{ID: "c", At: at})
		if domain.CodeOf(err) != domain.CodeConflict || len(stored) != 3 || !stored[0].New || stored[1].New || !stored[2].New {
			t.Errorf("%+v, %v", stored, err)
		}
		pass(2 * time.Hour)
		for _, id := range []string{"a", "b", "c"} {
			if row := w.expect(id, timer.Completed); !row.FiredAt.Equal(at) {
				t.Errorf("timer %s fired at %v, want %v", id, row.FiredAt, at)
			}
		}
		if _, err := set(func(s *timer.Spec) { s.At = at }); err != nil {
			t.Errorf("the same after it has fired: %v", err)
		}
		pass(time.Hour)
		if got := all(t, w); len(got) != 3 {
			t.Errorf("%d completions, want 3", len(got))
		}
	})
}

// TestRepeatedRequestForAWhile: who repeats "in five minutes" because its
// answer was lost asks for the same timer.
func TestRepeatedRequestForAWhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := started(t, nil)
		ask := func(id string, in time.Duration, payload string) ([]timer.Stored, error) {
			return w.Set(t.Context(), timer.Spec{ID: id, In: in, Payload: []byte(payload)})
		}
		first, err := ask("a", 5*time.Minute, `{"n":1}`)
		if err != nil || !first[0].New {
			t.Fatal(first, err)
		}
		for range 3 {
			pass(time.Second)
			again, err := ask("a", 5*time.Minute, `{"n":1}`)
			if err != nil || again[0].New || !again[0].At.Equal(first[0].At) {
				t.Errorf("repeated: %+v, %v", again, err)
			}
		}
		for name, repeat := range map[string]func() ([]timer.Stored, error){
			"another while":   func() ([]timer.Stored, error) { return ask("a", 6*time.Minute, `{"n":1}`) },
			"another payload": func() ([]timer.Stored, error) { return ask("a", 5*time.Minute, `{"n":2}`) },
		} {
			if _, err := repeat(); domain.CodeOf(err) != domain.CodeConflict {
				t.Errorf("%s: %v", name, err)
			}
		}
		pass(5 * time.Minute)
		w.expect("a", timer.Completed)
		if again, err := ask("a", 5*time.Minute, `{"n":1}`); err != nil || again[0].Status != timer.Completed {
			t.Errorf("repeated just after it fired: %+v, %v", again, err)
		}
		pass(5 * time.Minute)
		if again, err := ask("a", 5*time.Minute, `{"n":1}`); err != nil || !again[0].New || again[0].Status != timer.Waiting {
			t.Errorf("asked for again: %+v, %v", again, err)
		}
	})
}

// TestAdviceWorks: what the refusal of a taken id advises can be done.
func TestAdviceWorks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := started(t, nil)
		later := time.Now().Add(time.Hour)
		w.set("fired", time.Now(), "")
		again := timer.Spec{ID: "fired", In: time.Hour}
		w.set("canceled", later, "")
		if _, err := w.Cancel(t.Context(), "canceled"); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		refusal := func(id string) string {
			t.Helper()
			_, err := w.Set(t.Context(), timer.Spec{ID: id, At: later.Add(time.Hour)})
			if domain.CodeOf(err) != domain.CodeConflict {
				t.Fatalf("%s: %v", id, err)
			}
			return err.Error()
		}
		// The id of one that is over is free, and what asks for the same again
		// later is meant.
		for range 3 {
			stored, err := w.Set(t.Context(), again)
			if err != nil || !stored[0].New {
				t.Errorf("of one that fired: %+v, %v", stored, err)
			}
			if stored, err = w.Set(t.Context(), again); err != nil || stored[0].New {
				t.Errorf("repeated: %+v, %v", stored, err)
			}
			pass(time.Hour + 2*time.Minute)
			if fired, err := w.Timer(t.Context(), "fired"); err != nil || fired.Status != timer.Completed {
				t.Errorf("it is %+v, %v", fired, err)
			}
		}
		later = time.Now().Add(time.Hour)
		if says := refusal("canceled"); !strings.Contains(says, "reschedule it") {
			t.Errorf("of one that was canceled: %s", says)
		}
		if _, err := w.Reschedule(t.Context(), "canceled", later.Add(time.Hour)); err != nil {
			t.Errorf("following the advice: %v", err)
		}
	})
}
