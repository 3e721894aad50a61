package github

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"
)

func TestRequestsCarryWhatGitHubDemands(t *testing.T) {
	var seen *http.Request
	src := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		_, _ = w.Write([]byte(`[]`))
	}), Options{UserAgent: "tester"})
	call := callOf(jobOf(RepoIssues))
	call.Stored = &domain.Page{ETag: `W/"abc"`}
	call.Since = testNow
	if res := src.Call(context.Background(), call); res.Verdict != source.Done {
		t.Fatal(res.Failure)
	}
	for name, want := range map[string]string{
		"User-Agent": "tester", "Authorization": "Bearer " + testToken, "X-GitHub-Api-Version": "2022-11-28",
		"If-None-Match": `W/"abc"`, "Accept": "application/vnd.github+json", "Content-Length": "", "Transfer-Encoding": "",
	} {
		if got := seen.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got, want := seen.URL.String(), "/repositories/42/issues?direction=asc&per_page=100&since=2026-09-01T11%3A59%3A50Z&sort=created&state=all"; got != want {
		t.Errorf("address %s, want %s", got, want)
	}
}

func TestEnterpriseAddresses(t *testing.T) {
	for base, want := range map[string][2]string{
		"":                                {"https://api.github.com/users/octo", "https://api.github.com/graphql"},
		"https://ghe.example.com/api/v3/": {"https://ghe.example.com/api/v3/users/octo", "https://ghe.example.com/api/graphql"},
		"http://127.0.0.1:8080":           {"http://127.0.0.1:8080/users/octo", "http://127.0.0.1:8080/graphql"},
	} {
		src, err := New(Options{BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		u, err := src.resolve("/users/octo")
		if err != nil {
			t.Fatal(err)
		}
		if u.String() != want[0] || src.graphql.String() != want[1] {
			t.Errorf("base %q: %s and %s, want %v", base, u, src.graphql, want)
		}
		if back, same := src.targetOf(want[0] + "?page=2"); back != "/users/octo?page=2" || !same {
			t.Errorf("base %q: target %q, same host %t", base, back, same)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, opt := range []Options{
		{BaseURL: "api.github.com"}, {BaseURL: "ftp://api.github.com"}, {BaseURL: "https://user:pw@api.github.com"},
		{BaseURL: "https://api.github.com?x=1"}, {BaseURL: "http://[::1"}, {Timeout: -1}, {MaxPayload: -1},
	} {
		_, err := New(opt)
		if domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%+v: error %v", opt, err)
		}
		if err != nil && strings.Contains(err.Error(), ":pw") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

// TestRedirectIsFollowedOnceAndAtHome follows a job through its redirect.
func TestRedirectIsFollowedOnceAndAtHome(t *testing.T) {
	var foreign atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign.Add(1) }))
	t.Cleanup(other.Close)
	src := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/repositories/42/issues":
			w.Header().Set("Location", "http://"+r.Host+"/repositories/43/issues?"+r.URL.RawQuery)
		case "/repositories/43/issues":
			w.Header().Set("Location", "http://"+r.Host+"/repositories/44/issues")
		default:
			w.Header().Set("Location", other.URL+r.URL.Path)
		}
		w.WriteHeader(http.StatusMovedPermanently)
	}), Options{})
	first := src.Call(context.Background(), callOf(jobOf(RepoIssues)))
	if first.Verdict != source.Done || len(first.Next) != 1 || len(first.Cursors) != 0 {
		t.Fatalf("first call: %+v", first)
	}
	second := src.Call(context.Background(), callOf(first.Next[0]))
	if second.Verdict != source.Fail || !strings.Contains(second.Failure.Message, "again and again") {
		t.Errorf("second call: %+v", second)
	}
	if res := src.Call(context.Background(), callOf(jobOf(UserProfile))); res.Verdict != source.Retry || len(res.Next) != 0 {
		t.Errorf("redirect to another host: %+v", res)
	}
	if foreign.Load() != 0 {
		t.Error("another host was called")
	}
}

// A sweep that is sent to another address says of nothing that it is gone, and neither
// does a look at a repository that finds nothing there.
func TestNothingIsGoneByARedirect(t *testing.T) {
	elsewhere := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body := http.StatusOK, `[]`
		switch {
		case !strings.HasPrefix(r.URL.Path, "/elsewhere"):
			w.Header().Set("Location", "/elsewhere"+r.URL.Path)
			status = http.StatusFound
		case r.URL.Path == "/elsewhere/repositories/42":
			status, body = http.StatusNotFound, `{"message":"Not Found"}`
		case strings.HasSuffix(r.URL.Path, "/runs"):
			body = `{"total_count":0,"workflow_runs":[]}`
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
	src := serve(t, elsewhere, Options{NoGraphQL: true, Resources: ResourceNames()})
	for _, typ := range []string{SweepIssues, SweepPulls, SweepComments, SweepRuns, RepoLabels, RepoReleases, RepoDeployments, CheckRepo} {
		spec := jobOf(typ)
		spec.Bucket = BucketCore
		first := src.Call(t.Context(), callOf(spec))
		if len(first.Next) != 1 {
			t.Fatalf("%s: %+v", typ, first)
		}
		second := src.Call(t.Context(), callOf(first.Next[0]))
		if len(second.Absences) > 0 {
			t.Errorf("%s: %+v", typ, second.Absences)
		}
		if looks := typ == CheckRepo; looks != (second.Verdict == source.Retry) || looks == (len(second.Cursors) > 0) {
			t.Errorf("%s: verdict %v, cursors %v, %v", typ, second.Verdict, second.Cursors, second.Failure)
		}
	}
}

// TestLinkToAnotherHostStaysAtHome shows that only the path of a Link counts.
func TestLinkToAnotherHostStaysAtHome(t *testing.T) {
	src := serve(t, reply{status: 200, body: `[]`, header: map[string]string{
		"Link": `<https://evil.example.com/repositories/42/issues?page=2>; rel="next"`}}, Options{})
	res := src.Call(context.Background(), callOf(jobOf(RepoIssues)))
	if len(res.Next) != 1 {
		t.Fatalf("result %+v", res)
	}
	p, err := parseParams(res.Next[0].Params)
	if err != nil || p.URL != "/repositories/42/issues?page=2" {
		t.Errorf("next page at %q (%v)", p.URL, err)
	}
}

// TestRequestIsSentOnce breaks a connection that was already used: net/http
// would silently send a GET again.
func TestRequestIsSentOnce(t *testing.T) {
	var calls atomic.Int32
	src := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			_, _ = w.Write([]byte(`[]`))
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}), Options{})
	for _, want := range []source.Verdict{source.Done, source.Retry} {
		res := src.Call(context.Background(), callOf(jobOf(RepoIssues)))
		if res.Verdict != want {
			t.Fatalf("verdict %d, want %d: %v", res.Verdict, want, res.Failure)
		}
		if want == source.Retry && (res.Failure.Kind != domain.FailureConnection || res.Free) {
			t.Errorf("failure %v, free %t", res.Failure, res.Free)
		}
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("%d requests for 2 calls", n)
	}
}

func TestConnectionNeverMadeIsFree(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	src, err := New(Options{BaseURL: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	res := src.Call(context.Background(), callOf(jobOf(UserProfile)))
	if res.Verdict != source.Retry || kindOf(res.Failure) != domain.FailureConnection || !res.Free {
		t.Errorf("result %+v (%v)", res, res.Failure)
	}
	if !strings.Contains(res.Failure.Message, "refused") || strings.Contains(res.Failure.Message, "/users/") {
		t.Errorf("message %q", res.Failure.Message)
	}
}

func TestTimeoutAndStop(t *testing.T) {
	arrived, release := make(chan struct{}, 2), make(chan struct{})
	src := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}), Options{Timeout: 50 * time.Millisecond})
	t.Cleanup(func() { close(release) })
	res := src.Call(context.Background(), callOf(jobOf(UserProfile)))
	if res.Verdict != source.Retry || kindOf(res.Failure) != domain.FailureTimeout || res.Free {
		t.Errorf("timeout: %+v (%v)", res, res.Failure)
	}
	<-arrived

	src.opt.Timeout = time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-arrived
		cancel()
	}()
	if res := src.Call(ctx, callOf(jobOf(UserProfile))); res.Verdict != source.Wait || res.Free {
		t.Errorf("stopped within a call: %+v (%v)", res, res.Failure)
	}
	if res := src.Call(ctx, callOf(jobOf(UserProfile))); res.Verdict != source.Wait || !res.Free {
		t.Errorf("stopped before a call: %+v (%v)", res, res.Failure)
	}
	if len(arrived) != 0 {
		t.Error("a call was made although the context was done")
	}
}

func TestTruncatedAndOversizedBodies(t *testing.T) {
	truncated := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.Header().Set("X-RateLimit-Limit", "5000")
		w.Header().Set("X-RateLimit-Remaining", "4321")
		w.Header().Set("X-RateLimit-Reset", "1788267600")
		_, _ = w.Write([]byte(`[{"id":1}`))
	})
	res := serve(t, truncated, Options{}).Call(context.Background(), callOf(jobOf(RepoIssues)))
	if res.Verdict != source.Retry || kindOf(res.Failure) != domain.FailureMalformed || res.Free {
		t.Errorf("truncated: %+v (%v)", res, res.Failure)
	}
	if !res.Quota.Known || res.Quota.Remaining != 4321 {
		t.Errorf("the headers of a truncated answer were not read: %+v", res.Quota)
	}
	for _, body := range []reply{
		{status: 200, body: strings.Repeat(" ", 2000)},
		{status: 200, body: strings.Repeat(" ", 2000), header: map[string]string{"Transfer-Encoding": "chunked"}},
	} {
		res := serve(t, body, Options{MaxBody: 1000}).Call(context.Background(), callOf(jobOf(RepoIssues)))
		if res.Verdict != source.Fail || !strings.Contains(res.Failure.Message, "larger than 1000 bytes") {
			t.Errorf("oversized: %+v (%v)", res, res.Failure)
		}
	}
}

func TestTokenNeverShows(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 410, 422, 500} {
		src := serve(t, reply{status: status, body: `{"message":"you sent ` + testToken + `"}`}, Options{})
		res := src.Call(context.Background(), callOf(jobOf(RepoIssues)))
		if res.Failure != nil && strings.Contains(res.Failure.Message, testToken) {
			t.Errorf("%d: %s", status, res.Failure.Message)
		}
		for _, next := range res.Next {
			if strings.Contains(string(next.Params), testToken) {
				t.Errorf("%d: parameters hold the token", status)
			}
		}
	}
}

func TestRateHeaders(t *testing.T) {
	headers := map[string]string{"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1788267600", "X-RateLimit-Resource": "core"}
	for status := range map[int]bool{200: true, 304: true, 403: true, 500: true} {
		res := serve(t, reply{status: status, body: `[]`, header: headers}, Options{}).Call(context.Background(), callOf(jobOf(RepoIssues)))
		q := res.Quota
		if !q.Known || q.Limit != 5000 || q.Remaining != 4999 || !q.Reset.Equal(time.Unix(1788267600, 0)) {
			t.Errorf("%d: %+v", status, q)
		}
	}
	headers["X-RateLimit-Resource"] = "search"
	if q := serve(t, reply{status: 200, body: `[]`, header: headers}, Options{}).Call(context.Background(), callOf(jobOf(RepoIssues))).Quota; q.Known {
		t.Errorf("the window of another bucket was taken: %+v", q)
	}
	body := `{"data":{"node":{"defaultBranchRef":null},"rateLimit":{"cost":3,"limit":5000,"remaining":77,"resetAt":"2026-09-01T13:00:00Z"}}}`
	q := serve(t, reply{status: 200, body: body}, Options{}).Call(context.Background(), callOf(jobOf(CommitStats))).Quota
	if !q.Known || q.Cost != 3 || q.Remaining != 77 || !q.Reset.Equal(testNow.Add(time.Hour)) || !q.Date.Equal(testNow) {
		t.Errorf("GraphQL: %+v", q)
	}
}
