package declared_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sim "sluice/internal/simulator/declared"
	"sluice/internal/source/declared"
)

// probe tries a file out on a server, on a clock that goes on by what is waited.
func probe(t *testing.T, text, base, token string, now *time.Time) *declared.Probed {
	t.Helper()
	src, err := declared.New(load(t, text), declared.Options{Base: base, Now: func() time.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	res, err := src.Probe(t.Context(), declared.Probe{Target: "acme", Token: token, Wait: func(_ context.Context, d time.Duration) bool {
		*now = now.Add(d)
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

const bare = `
source: other
base: https://other.example
auth: bearer
ration: unknown
streams:
  things:
    get: /things
    key: id
`

// TestProbe: headers and bodies as other APIs write them are understood, and what the
// file lacks is proposed.
func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		header func(now time.Time, call int) map[string]string
		body   string
		want   []string
	}{
		"epoch and link": {func(now time.Time, _ int) map[string]string {
			return map[string]string{"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "59", "X-RateLimit-Reset": fmt.Sprint(now.Add(time.Hour).Unix()), "Link": `</things?page=2>; rel="next"`, "X-Total": "70"}
		}, `[{"id": 1, "updated_at": "2026-01-02T03:04:05Z"}]`, []string{
			"told: {per: key, read: {limit: X-Ratelimit-Limit, remaining: X-Ratelimit-Remaining, reset: {header: X-Ratelimit-Reset, as: epoch}}}",
			"page: {type: link, total: {header: X-Total}}", "version: updated_at",
		}},
		"delta and token": {func(_ time.Time, call int) map[string]string {
			return map[string]string{"X-Ratelimit-Used": "3", "X-Ratelimit-Remaining": "97.0", "X-Ratelimit-Reset": fmt.Sprint(590 - call)}
		}, `{"data": [{"id": 1, "modified": 1767323045}], "paging": {"next_cursor": "abc"}}`, []string{
			"reset: {header: X-Ratelimit-Reset, as: delta}", "next: paging.next_cursor", "records: data", "version: modified",
		}},
		"milliseconds that shrink": {func(_ time.Time, call int) map[string]string {
			return map[string]string{"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": fmt.Sprint(60_000 - 1000*call)}
		}, `{"items": [{"id": 1}], "next": "https://other.example/things?after=1"}`, []string{
			"as: delta_ms", "page: {type: cursor, next: next}", "records: items",
		}},
		"iso": {func(now time.Time, _ int) map[string]string {
			return map[string]string{"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": now.Add(time.Minute).Format(time.RFC3339)}
		}, `{"items": [{"id": 1}], "total": 8}`, []string{"as: iso", "page: {type: page, param: PARAMETER, size: {PARAMETER: 100}, total: total}"}},
		"ietf": {func(time.Time, int) map[string]string {
			return map[string]string{"RateLimit-Policy": `"burst";q=100;w=60`, "RateLimit": `"burst";r=50;t=30`}
		}, `[]`, []string{"told: {per: key, read: ietf}"}},
	} {
		t.Run(name, func(t *testing.T) {
			now, calls := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC), 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls++
				if r.Header.Get("Authorization") != "Bearer hush-hush" {
					w.WriteHeader(401)
				}
				for name, value := range c.header(now, calls-1) {
					w.Header().Set(name, value)
				}
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			res := probe(t, bare, server.URL, "hush-hush", &now)
			for _, want := range c.want {
				if !strings.Contains(res.Lines, want) {
					t.Errorf("there is no %q in\n%s%s", want, res.Lines, strings.Join(res.Seen, "\n"))
				}
			}
			if calls != 2 || len(res.Calls) != 2 || res.Calls[0].Status != 200 {
				t.Errorf("%d calls: %+v", calls, res.Calls)
			}
		})
	}
}

// TestProbeLeavesAlone: a probe stops when it is told to, makes no more calls than a
// ration has, and shows no credential.
func TestProbeLeavesAlone(t *testing.T) {
	now, calls := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC), 0
	status := 429
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`[{"id": 1}]`))
	}))
	defer server.Close()
	res := probe(t, bare, server.URL, "hush-hush", &now)
	if calls != 1 || !strings.Contains(strings.Join(res.Seen, "\n"), "left alone (429) for 30s") {
		t.Errorf("%d calls, %v", calls, res.Seen)
	}
	calls, status = 0, 200
	query := strings.NewReplacer("auth: bearer", "auth: {query: key}", "ration: unknown", "ration: {a: {per: key, calls: 1, every: 1h}}").Replace(bare)
	if res = probe(t, query, server.URL, "hush-hush", &now); calls != 1 || strings.Contains(fmt.Sprint(res), "hush-hush") {
		t.Errorf("%d calls, %v", calls, res)
	}
}

// TestProbeSimulated: what a file says of itself is found at the upstream made from it,
// and nothing is proposed that it says already.
func TestProbeSimulated(t *testing.T) {
	const text = `
source: shop
base: https://shop.example
auth: bearer
ration: {all: {per: key, calls: 100, every: 1m, read: {limit: X-Limit, remaining: X-Left}}}
streams:
  orders:
    get: /orders
    page: {type: page, param: page, size: {per_page: 20}, total: total}
    records: items
    key: id
    version: updated_at
    conditional: etag
    columns: {price: {at: price, type: integer}}
`
	described, err := load(t, text).Simulated()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := sim.ParseSpec(described)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
	upstream, err := sim.New(spec, sim.Options{Records: 50, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(upstream)
	defer server.Close()
	upstream.SetURL(server.URL)
	res := probe(t, text, server.URL, "any", &now)
	if len(res.Calls) != 2 || res.Calls[0].Status != 200 || res.Calls[1].Status != 304 || res.Lines != "" {
		t.Errorf("%+v", res)
	}
	res = probe(t, strings.NewReplacer("    conditional: etag\n", "", ", total: total", "", "    version: updated_at\n", "", "    records: items\n", "", "    columns: {price: {at: price, type: integer}}\n", "").Replace(text), server.URL, "any", &now)
	for _, want := range []string{"conditional: etag", "total: total", "version: updated_at", "records: items", "price: {at: price, type: integer}"} {
		if !strings.Contains(res.Lines, want) {
			t.Errorf("there is no %q in\n%s%v", want, res.Lines, res.Seen)
		}
	}
	if a := upstream.Audit(); a.Beyond["all"] != 0 {
		t.Errorf("%+v", a)
	}
}
