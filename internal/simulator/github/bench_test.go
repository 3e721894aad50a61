package github

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkServe measures requests over HTTP in one process, client included.
func BenchmarkServe(b *testing.B) {
	o := plain(4, 400, 300, 100)
	o.Accounts = 20
	o.Limits.Disabled = true
	s := New(o)
	login, token, repo := first(b, s)
	history := fmt.Sprintf(`{"query":"query($o:String!,$n:String!){repository(owner:$o,name:$n){defaultBranchRef{target{...on Commit{history(first:100){pageInfo{hasNextPage endCursor} nodes{oid committedDate additions deletions author{name user{login}}}}}}}}}","variables":{"o":%q,"n":%q}}`, repo.Owner, repo.Name)
	for _, c := range []struct{ name, method, path, body string }{
		{"profile", http.MethodGet, "/users/" + login, ""},
		{"commits-5", http.MethodGet, repo.path("/commits?per_page=5"), ""},
		{"commits-100", http.MethodGet, repo.path("/commits?per_page=100"), ""},
		{"issues-100", http.MethodGet, repo.path("/issues?state=all&per_page=100&sort=created&direction=asc"), ""},
		{"pulls-100", http.MethodGet, repo.path("/pulls?state=all&per_page=100"), ""},
		{"history-100", http.MethodPost, "/graphql", history},
	} {
		b.Run(c.name, func(b *testing.B) { serve(b, s, token, c.method, c.path, []byte(c.body)) })
	}
	// The same client against a handler that does nothing: the raw limit.
	b.Run("nothing", func(b *testing.B) {
		serve(b, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), token, http.MethodGet, "/", nil)
	})
}

func serve(b *testing.B, s http.Handler, token, method, path string, body []byte) {
	srv := httptest.NewServer(s)
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, err := http.NewRequestWithContext(b.Context(), method, srv.URL+path, bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			r.Header.Set("Authorization", "token "+token)
			res, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			n, err := io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if err != nil || res.StatusCode != http.StatusOK {
				b.Errorf("%d after %d bytes: %v", res.StatusCode, n, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// BenchmarkHandler measures the simulator alone, without a network.
func BenchmarkHandler(b *testing.B) {
	o := plain(4, 400, 300, 100)
	o.Limits.Disabled = true
	s := New(o)
	_, token, repo := first(b, s)
	for _, tail := range []string{"/commits?per_page=5", "/commits?per_page=100", "/issues?state=all&per_page=100", "/pulls?state=all&per_page=100"} {
		b.Run(tail, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := get(s, token, repo.path(tail)); r.status != http.StatusOK {
					b.Fatalf("status %d", r.status)
				}
			}
		})
	}
}
