package httpapi_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/wire"
	"sluice/internal/quota/paced"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
)

// game is the API on a real refresh pipeline, whose upstream and log a test
// governs.
type game struct {
	*testing.T
	*refresh.Pipeline
	handler http.Handler
	// value is what the upstream answers; "" is that there is no such thing.
	value atomic.Pointer[string]
	calls atomic.Int64
	// broken lets nothing be published.
	broken atomic.Bool
}

func newGame(t *testing.T) *game {
	t.Helper()
	g := &game{T: t}
	g.set("1")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Holder: "a test"})
	g.must(err)
	store, err := sqlite.NewSnapshots(db, refresh.TierOptions{})
	g.must(err)
	limits := rate.Limits{Hard: 20_000, Rate: 10_000, Burst: 10_000, LowRate: 9_000, LowBurst: 9_000}
	keeper, err := paced.New(map[string]rate.Limits{"game": limits}, memory.NewRations(memory.RationsOptions{}), paced.Options{})
	g.must(err)
	log := &brokenEvents{sqlite.NewEventLog(db, sqlite.EventLogOptions{Log: slog.New(slog.DiscardHandler)}), g}
	g.Pipeline, err = refresh.NewPipeline(refresh.Parts{
		Log: log, Coalescer: memory.NewCoalescer(refresh.CoalescerTTLs{}, nil), Snapshots: store, Rate: keeper,
		Cache: memory.NewCache(memory.CacheOptions{}), Upstreams: map[string]refresh.Upstream{"game": g},
	}, refresh.Settings{Works: true})
	g.must(err)
	g.must(g.Start(t.Context()))
	t.Cleanup(func() {
		_ = g.Stop(context.WithoutCancel(t.Context()))
		time.Sleep(10 * time.Millisecond) // what was about to be saved is
		_ = log.Close(context.WithoutCancel(t.Context()))
		_ = db.Close()
	})
	deps := newFake().deps()
	deps.Refreshes = g.Pipeline
	g.handler = httpapi.New(deps, httpapi.Options{})
	time.Sleep(time.Second) // the keeper's first
	return g
}

func (g *game) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *game) set(value string) { g.value.Store(&value) }

func (g *game) CheckKey(key string) (string, error) {
	if strings.Contains(key, " ") {
		return "", domain.Errorf(domain.CodeInvalid, "a key has no spaces")
	}
	return strings.ToLower(key), nil
}

func (g *game) Fetch(context.Context, string, func()) refresh.Fetched {
	g.calls.Add(1)
	time.Sleep(2 * time.Second)
	v := *g.value.Load()
	if v == "" {
		return refresh.Fetched{Verdict: refresh.FetchDead, Code: "GONE", Error: "there is no such thing", HTTPStatus: http.StatusNotFound}
	}
	return refresh.Fetched{Verdict: refresh.FetchDone, Body: []byte(v), Hash: sha256.Sum256([]byte(v))}
}

type brokenEvents struct {
	refresh.EventLog
	*game
}

func (b *brokenEvents) Close(ctx context.Context) error { return b.EventLog.Close(ctx) }

func (b *brokenEvents) Publish(ctx context.Context, topic refresh.Topic, messages ...refresh.Message) error {
	if b.broken.Load() {
		return domain.Errorf(domain.CodeUnavailable, "the log is down")
	}
	return b.EventLog.Publish(ctx, topic, messages...)
}

// do makes a request, demands a status and decodes the answer into out.
func (g *game) do(method, path, body string, status int, out any, headers ...string) http.Header {
	g.Helper()
	r := httptest.NewRequestWithContext(g.Context(), method, "http://localhost/api/v1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	if w.Code != status {
		g.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, w.Code, w.Body, status)
	}
	if out != nil {
		if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
			g.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
		}
	} else if w.Body.Len() > 0 && status == http.StatusNotModified {
		g.Errorf("%s %s: an answer of %s", method, path, w.Body)
	}
	return w.Header()
}

func (g *game) refresh(status int, priority string, keys ...string) (results []string) {
	g.Helper()
	text, err := json.Marshal(wire.RefreshRequest{Source: "game", Keys: keys, Priority: priority})
	g.must(err)
	var answer wire.RefreshAnswer
	g.do(http.MethodPost, "/refresh", string(text), status, &answer)
	for _, r := range answer.Results {
		results = append(results, r.Key+" "+r.Result)
	}
	return results
}

func TestSnapshotsOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGame(t)
		var a refresh.Answer
		g.do(http.MethodGet, "/snapshots/game/HERO", "", http.StatusOK, &a)
		if a.Freshness != refresh.NotFound || !a.UpdateQueued || string(a.Snapshot) != "null" || a.Key != "hero" {
			t.Errorf("got %+v", a)
		}
		time.Sleep(time.Second)
		g.do(http.MethodGet, "/snapshots/game/hero", "", http.StatusOK, &a)
		if a.Freshness != refresh.Updating {
			t.Errorf("got %+v", a)
		}
		time.Sleep(2 * time.Second)
		header := g.do(http.MethodGet, "/snapshots/game/hero", "", http.StatusOK, &a)
		tag := header.Get("ETag")
		if a.Freshness != refresh.Fresh || string(a.Snapshot) != "1" || tag == "" || a.LastCheckedAt.IsZero() {
			t.Errorf("got %+v", a)
		}
		if again := g.do(http.MethodGet, "/snapshots/game/hero", "", http.StatusNotModified, nil, "If-None-Match", tag); again.Get("ETag") != tag {
			t.Errorf("got %v", again)
		}
		g.do(http.MethodGet, "/snapshots/game/hero", "", http.StatusOK, &a, "If-None-Match", `"another"`)
		time.Sleep(time.Hour)
		g.set("2")
		g.do(http.MethodGet, "/snapshots/game/hero", "", http.StatusOK, &a, "If-None-Match", tag) // stale: to be told
		if a.Freshness != refresh.Stale || string(a.Snapshot) != "1" {
			t.Errorf("got %+v", a)
		}
		time.Sleep(3 * time.Second)
		g.do(http.MethodGet, "/snapshots/game/hero", "", http.StatusOK, &a, "If-None-Match", tag)
		if a.Freshness != refresh.Fresh || string(a.Snapshot) != "2" {
			t.Errorf("got %+v", a)
		}
		var p wire.Problem
		for _, path := range []string{"/snapshots/game/a%20b", "/snapshots/nowhere/hero", "/snapshots/game/a%20b/events"} {
			if g.do(http.MethodGet, path, "", http.StatusUnprocessableEntity, &p); p.Detail == "" {
				t.Errorf("%s: %+v", path, p)
			}
		}
	})
}

func TestRefreshOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGame(t)
		for _, tc := range []struct{ priority, want string }{
			{"LOW", "[hero PUBLISHED]"}, {"LOW", "[hero ALREADY_PROCESSING]"}, {"HIGH", "[hero UPGRADED]"}, {"", "[hero ALREADY_PROCESSING]"},
		} {
			if got := fmt.Sprint(g.refresh(http.StatusAccepted, tc.priority, "hero", "HERO")); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.priority, got, tc.want)
			}
		}
		time.Sleep(10 * time.Second)
		if got := fmt.Sprint(g.refresh(http.StatusAccepted, "HIGH", "hero", "other")); got != "[hero PUBLISHED other PUBLISHED]" {
			t.Errorf("got %s", got)
		}
		time.Sleep(10 * time.Second)
		g.do(http.MethodPost, "/refresh", `{"source":"game","keys":["a b"]}`, http.StatusUnprocessableEntity, nil)
		g.do(http.MethodPost, "/refresh", `{"source":"game","keys":[]}`, http.StatusUnprocessableEntity, nil)
		g.do(http.MethodPost, "/refresh", `{"source":"game","keys":["a"],"priority":"MIDDLE"}`, http.StatusUnprocessableEntity, nil)
		var o refresh.Overview
		g.do(http.MethodGet, "/refresh", "", http.StatusOK, &o)
		// The LOW request may have been granted a call before HIGH overtook it. It
		// gives that back, but a day counts no refund in its first minutes.
		calls := g.calls.Load()
		if len(o.Sources) != 1 || o.Sources[0].Counts.Snapshots != 2 || o.Breakers["store"] != "closed" ||
			o.Sources[0].Rate.Used < calls || o.Sources[0].Rate.Used > calls+1 {
			t.Errorf("%d calls, got %+v", calls, o)
		}
	})
}

// TestLogIsDown: requests are refused with the reason, reads go on.
func TestLogIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGame(t)
		g.refresh(http.StatusAccepted, "", "hero")
		time.Sleep(10 * time.Second)
		g.broken.Store(true)
		for i := range 10 {
			var p wire.Problem
			g.do(http.MethodPost, "/refresh", fmt.Sprintf(`{"source":"game","keys":["k%d"]}`, i), http.StatusServiceUnavailable, &p)
			reason := "the log is down"
			if i > 5 {
				reason = "left alone"
			}
			if p.Code != domain.CodeUnavailable || !strings.Contains(p.Detail, reason) && i != 5 {
				t.Errorf("request %d: %+v", i, p)
			}
		}
		var a refresh.Answer
		g.do(http.MethodGet, "/snapshots/game/hero", "", http.StatusOK, &a)
		if a.Freshness != refresh.Fresh {
			t.Errorf("got %+v", a)
		}
		g.do(http.MethodGet, "/snapshots/game/nobody-yet", "", http.StatusOK, &a)
		var o refresh.Overview
		if g.do(http.MethodGet, "/refresh", "", http.StatusOK, &o); o.Breakers["redis"] != "open" {
			t.Errorf("got %+v", o.Breakers)
		}
		g.broken.Store(false)
		time.Sleep(31 * time.Second)
		g.refresh(http.StatusAccepted, "", "k1")
	})
}

// streamed returns the freshnesses and statuses that a stream tells to its end.
func (g *game) streamed(path string) string {
	g.Helper()
	r := httptest.NewRequestWithContext(g.Context(), http.MethodGet, "http://localhost/api/v1"+path, nil)
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	var told []string
	for line := range strings.Lines(w.Body.String()) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var a refresh.Answer
		g.must(json.Unmarshal([]byte(data), &a))
		text := string(a.Freshness)
		if a.Status != nil {
			text += "/" + string(a.Status.Code)
		}
		told = append(told, text)
	}
	return strings.Join(told, " ")
}

func TestSnapshotStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGame(t)
		if got := g.streamed("/snapshots/game/hero/events"); got != "NOT_FOUND FRESH" {
			t.Errorf("told were %q", got)
		}
		if got := g.streamed("/snapshots/game/hero/events"); got != "FRESH" {
			t.Errorf("told were %q", got)
		}
		time.Sleep(time.Hour)
		if got := g.streamed("/snapshots/game/hero/events"); got != "STALE FRESH" {
			t.Errorf("told were %q", got)
		}
		g.set("") // what is given up is not waited for
		if got := g.streamed("/snapshots/game/nobody/events"); got != "NOT_FOUND NOT_FOUND/FAILED" {
			t.Errorf("told were %q", got)
		}
	})
}

func TestDeadLettersOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGame(t)
		g.set("")
		g.refresh(http.StatusAccepted, "", "a", "b", "c", "d")
		time.Sleep(10 * time.Second)
		var list wire.DeadLetterList
		g.do(http.MethodGet, "/dlq", "", http.StatusOK, &list)
		if len(list.Items) != 4 || list.Counts["GONE"] != 4 {
			t.Fatalf("got %+v", list)
		}
		g.do(http.MethodGet, "/dlq?key=b&why=GONE&source=game&limit=10", "", http.StatusOK, &list)
		if len(list.Items) != 1 || list.Items[0].Key != "b" {
			t.Errorf("got %+v", list)
		}
		var letter wire.Letter
		g.do(http.MethodGet, "/dlq/"+list.Items[0].ID, "", http.StatusOK, &letter)
		if whole := letter.Refresh; whole == nil || letter.Key != "b" || letter.Why != "GONE" || whole.HTTPStatus != http.StatusNotFound || letter.Error == "" || letter.Tries != 1 || whole.Priority != domain.PriorityHigh {
			t.Errorf("got %+v", letter)
		}
		g.do(http.MethodGet, "/dlq/none", "", http.StatusNotFound, nil)
		g.set("1")
		var done wire.LettersAnswer
		if g.do(http.MethodPost, "/dlq/redrive", `{"ids":["`+letter.ID+`"]}`, http.StatusOK, &done); done.Letters != 1 {
			t.Errorf("got %+v", done)
		}
		g.do(http.MethodGet, "/dlq?limit=1", "", http.StatusOK, &list)
		if g.do(http.MethodPost, "/dlq/discard", `{"ids":["`+list.Items[0].ID+`"]}`, http.StatusOK, &done); done.Letters != 1 {
			t.Errorf("got %+v", done)
		}
		if g.do(http.MethodPost, "/dlq/redrive", `{"why":"GONE"}`, http.StatusOK, &done); done.Letters != 2 {
			t.Errorf("got %+v", done)
		}
		var none wire.DeadLetterList
		if g.do(http.MethodGet, "/dlq", "", http.StatusOK, &none); len(none.Items) != 0 || len(none.Counts) != 0 {
			t.Errorf("got %+v", none)
		}
		time.Sleep(10 * time.Second)
		var a refresh.Answer
		if g.do(http.MethodGet, "/snapshots/game/b", "", http.StatusOK, &a); a.Freshness != refresh.Fresh || a.Status != nil {
			t.Errorf("got %+v", a)
		}
		for _, path := range []string{"/dlq/redrive", "/dlq/discard"} {
			g.do(http.MethodPost, path, `{}`, http.StatusUnprocessableEntity, nil)
			g.do(http.MethodPost, path, `{"ids":["x"],"why":"GONE"}`, http.StatusUnprocessableEntity, nil)
		}
		g.do(http.MethodPost, "/dlq/redrive", `{"ids":["none"]}`, http.StatusNotFound, nil)
	})
}
