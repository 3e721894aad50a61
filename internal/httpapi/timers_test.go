package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/backend/sqlite"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
	"sluice/internal/webhook"
)

// clockwork is the API on a real timer service.
type clockwork struct {
	*timer.Service
	t       *testing.T
	store   timer.Store
	handler http.Handler
	fake    *fake
}

// newClockwork must be called in a bubble, or with a clock that is real.
func newClockwork(t *testing.T, change func(o *timer.Options)) *clockwork {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	sender, err := webhook.New(webhook.Options{Secret: "a plain secret of enough bytes"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sender.Close)
	c := &clockwork{t: t, store: sqlite.NewTimers(db), fake: newFake()}
	o := timer.Options{Store: c.store, Trigger: memory.NewDueSet(memory.DueSetOptions{}), Server: "alone", Sender: sender}
	if change != nil {
		change(&o)
	}
	if c.Service, err = timer.New(o); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(context.WithoutCancel(t.Context())) })
	c.handler = httpapi.New(c.deps(), httpapi.Options{})
	return c
}

func (c *clockwork) deps() httpapi.Deps {
	d := c.fake.deps()
	d.Timers = c.Service
	return d
}

// call makes a request without a network.
func (c *clockwork) call(method, path, body string) (int, string) {
	c.t.Helper()
	r := httptest.NewRequestWithContext(c.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// want makes a request and decodes the answer.
func want[T any](c *clockwork, status int, method, path, body string) T {
	c.t.Helper()
	var out T
	code, text := c.call(method, path, body)
	if code != status {
		c.t.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, code, text, status)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		c.t.Fatalf("%v in %s", err, text)
	}
	return out
}

func TestBadTimersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork(t, nil)
		big, err := json.Marshal(strings.Repeat("x", timer.MaxPayload))
		if err != nil {
			t.Fatal(err)
		}
		for body, says := range map[string]string{
			`{"id":"a"}`: "either at",
			`{"id":"a","at":"2030-01-01T00:00:00Z","in":"5m"}`:         "either at",
			`{"id":"a","at":"tomorrow"}`:                               "is not a time",
			`{"id":"a","at":"2030-01-01"}`:                             "is not a time",
			`{"id":"a","at":"2030-01-01 09:00:00"}`:                    "is not a time",
			`{"id":"a","at":"2030-01-01T09:00:00"}`:                    "the zone",
			`{"id":"a","at":"2030-02-30T09:00:00Z"}`:                   "is not a time",
			`{"id":"a","at":"1893456000"}`:                             "is not a time",
			`{"id":"a","at":"2300-01-01T00:00:00Z"}`:                   "between 1970 and 2200",
			`{"id":"a","at":"1960-01-01T00:00:00Z"}`:                   "between 1970 and 2200",
			`{"id":"a","at":1893456000}`:                               "string",
			`{"id":"a","in":"-5m"}`:                                    "cannot be negative",
			`{"id":"a","in":"5"}`:                                      "is not a duration",
			`{"id":"a","in":"soon"}`:                                   "is not a duration",
			`{"id":"a","in":"2540400h"}`:                               "between 1970 and 2200",
			`{"id":"","in":"5m"}`:                                      "id",
			`{"in":"5m"}`:                                              "id",
			`{"id":"a b","in":"5m"}`:                                   "cannot be a timer's id",
			`{"id":"~rebuild","in":"5m"}`:                              "beginning with a letter or digit",
			`{"id":"` + strings.Repeat("a", 201) + `","in":"5m"}`:      "id",
			`{"id":"a","in":"5m","payload":` + string(big) + `}`:       "at most 65536",
			`{"id":"a","in":"5m","payload":{]}`:                        "",
			`{"id":"a","in":"5m","more":1}`:                            "more",
			`{"id":"a","in":"5m","webhook":"http://127.0.0.1/"}`:       "public internet (loopback)",
			`{"id":"a","in":"5m","webhook":"http://192.168.1.1/"}`:     "public internet (private)",
			`{"id":"a","in":"5m","webhook":"http://169.254.169.254/"}`: "public internet (link-local)",
			`{"id":"a","in":"5m","webhook":"http://[fd00::1]/"}`:       "public internet (private)",
			`{"id":"a","in":"5m","webhook":"ftp://example.com/"}`:      "https://",
		} {
			code, text := c.call(http.MethodPost, "/api/v1/timers", body)
			if shown := body[:min(len(body), 80)]; code != http.StatusUnprocessableEntity && (says != "" || code != http.StatusBadRequest) || !strings.Contains(text, says) {
				t.Errorf("%s: got %d %s, want 422 and %q", shown, code, text, says)
			}
		}
		if list := want[wire.TimerList](c, 200, http.MethodGet, "/api/v1/timers", ""); len(list.Items) != 0 {
			t.Errorf("stored: %+v", list.Items)
		}
		for _, path := range []string{"/api/v1/timers?limit=0", "/api/v1/timers?status=SLEEPING", "/api/v1/completions?after=here", "/api/v1/completions?after=-1:a",
			"/api/v1/completions?after=9223372036854775807:a", "/api/v1/completions?hours=0", "/api/v1/completions/events?after=x"} {
			if code, text := c.call(http.MethodGet, path, ""); code != http.StatusUnprocessableEntity {
				t.Errorf("%s: got %d %s", path, code, text)
			}
		}
	})
}

func TestTimersOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork(t, nil)
		at := time.Now().Add(time.Hour).UTC()
		body := fmt.Sprintf(`{"id":"order:7","at":%q,"payload":{"n": 1}}`, at.Format(time.RFC3339Nano))
		made := want[timer.Timer](c, http.StatusCreated, http.MethodPost, "/api/v1/timers", body)
		if made.Status != timer.Waiting || !made.At.Equal(at) || string(made.Payload) != `{"n":1}` {
			t.Errorf("made: %+v", made)
		}
		if again := want[timer.Timer](c, http.StatusOK, http.MethodPost, "/api/v1/timers", body); !again.SetAt.Equal(made.SetAt) {
			t.Errorf("again: %+v", again)
		}
		if p := want[wire.Problem](c, http.StatusConflict, http.MethodPost, "/api/v1/timers", `{"id":"order:7","in":"5m"}`); p.Code != "conflict" {
			t.Errorf("the problem is %+v", p)
		}
		if got := want[timer.Timer](c, http.StatusOK, http.MethodGet, "/api/v1/timers/order:7", ""); !got.At.Equal(at) {
			t.Errorf("the first did not stay: %+v", got)
		}
		moved := want[timer.Timer](c, http.StatusOK, http.MethodPost, "/api/v1/timers/order:7/reschedule", `{"in":"10m"}`)
		if !moved.At.Equal(time.Now().Add(10 * time.Minute).Truncate(time.Microsecond)) {
			t.Errorf("moved: %+v", moved)
		}
		if gone := want[timer.Timer](c, http.StatusOK, http.MethodDelete, "/api/v1/timers/order:7", ""); gone.Status != timer.Canceled {
			t.Errorf("canceled: %+v", gone)
		}
		want[timer.Timer](c, http.StatusOK, http.MethodPost, "/api/v1/timers/order:7/reschedule", `{"in":"1s"}`)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := want[timer.Timer](c, http.StatusOK, http.MethodGet, "/api/v1/timers/order:7", ""); got.Status != timer.Completed || got.Server != "alone" {
			t.Errorf("fired: %+v", got)
		}
		for _, path := range []string{"/reschedule", "/redeliver"} {
			want[wire.Problem](c, http.StatusConflict, http.MethodPost, "/api/v1/timers/order:7"+path, `{"in":"1s"}`)
			want[wire.Problem](c, http.StatusNotFound, http.MethodPost, "/api/v1/timers/other"+path, `{"in":"1s"}`)
		}
		want[wire.Problem](c, http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/timers/order:7/reschedule", `{"in":"-1s"}`)
		want[wire.Problem](c, http.StatusConflict, http.MethodDelete, "/api/v1/timers/order:7", "")
		want[wire.Problem](c, http.StatusNotFound, http.MethodDelete, "/api/v1/timers/other", "")
		want[wire.Problem](c, http.StatusNotFound, http.MethodGet, "/api/v1/timers/~rebuild", "")
	})
}

// TestCompletionLog pages through the log and sums it up.
func TestCompletionLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClockwork(t, nil)
		now := time.Now()
		// 100 in time, of which many fire at the same instant, and two late.
		var specs []timer.Spec
		for i := range 98 {
			specs = append(specs, timer.Spec{ID: fmt.Sprintf("t%02d", i), At: now.Add(time.Duration(i/10) * time.Second)})
		}
		if _, err := c.Set(t.Context(), specs...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		late := []timer.Spec{{ID: "late-1", At: time.Now().Add(-30 * time.Second)}, {ID: "late-2", At: time.Now().Add(-30 * time.Second)}}
		if _, err := c.store.Put(t.Context(), late, now); err != nil {
			t.Fatal(err)
		}
		missed := want[timer.Missed](c, http.StatusOK, http.MethodPost, "/api/v1/monitoring/detect-missed-timers", "")
		if missed.Found != 2 || missed.FiredNow != 2 || len(missed.Timers) != 2 {
			t.Errorf("missed: %+v", missed)
		}
		if again := want[timer.Missed](c, http.StatusOK, http.MethodPost, "/api/v1/monitoring/detect-missed-timers", ""); again.Found != 0 || again.Timers == nil {
			t.Errorf("missed again: %+v", again)
		}
		var got []timer.Completion
		pages := 0
		for after := ""; ; pages++ {
			list := want[wire.CompletionList](c, http.StatusOK, http.MethodGet, "/api/v1/completions?limit=7&cursor="+url.QueryEscape(after), "")
			got = append(got, list.Items...)
			if after = list.NextCursor; after == "" {
				break
			}
		}
		if len(got) != 100 || pages != 14 {
			t.Fatalf("%d on %d pages", len(got), pages+1)
		}
		for i, one := range got[:98] {
			if one.Timer != fmt.Sprintf("t%02d", i) || one.Lateness != 0 || one.Server != "alone" {
				t.Errorf("place %d is %+v", i, one)
			}
		}
		sum := want[wire.CompletionStats](c, http.StatusOK, http.MethodGet, "/api/v1/monitoring/completion-stats", "")
		if sum.Completed != 100 || sum.Succeeded != 100 || sum.Failed != 0 || sum.Pending != 0 || sum.Late != 2 || sum.Servers["alone"] != 100 ||
			sum.Lateness.Mean != 600 || sum.Lateness.Max != 30_000 || sum.Lateness.P50 > 0.1 || sum.Lateness.P99 < 29_000 || sum.Lateness.P99 > 30_000 {
			t.Errorf("sum: %+v", sum)
		}
		time.Sleep(2 * time.Hour)
		if sum := want[wire.CompletionStats](c, http.StatusOK, http.MethodGet, "/api/v1/monitoring/completion-stats?hours=1", ""); sum.Completed != 0 {
			t.Errorf("of the last hour: %+v", sum)
		}
		if list := want[wire.CompletionList](c, http.StatusOK, http.MethodGet, "/api/v1/completions?hours=1", ""); list.Items == nil || len(list.Items) != 0 {
			t.Errorf("of the last hour: %+v", list)
		}
		pageTimers(t, c)
	})
}

func pageTimers(t *testing.T, c *clockwork) {
	t.Helper()
	n, after := 0, ""
	for {
		list := want[wire.TimerList](c, http.StatusOK, http.MethodGet, "/api/v1/timers?limit=10&prefix=t&status=COMPLETED,DEAD&cursor="+after, "")
		n += len(list.Items)
		if after = list.NextCursor; after == "" {
			break
		}
	}
	if n != 98 {
		t.Errorf("%d timers on all pages, want 98", n)
	}
	if list := want[wire.TimerList](c, http.StatusOK, http.MethodGet, "/api/v1/timers?status=WAITING", ""); list.Items == nil || len(list.Items) != 0 {
		t.Errorf("waiting: %+v", list)
	}
}
