package github

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

const testToken = "ghp_secretsecretsecret"

var testNow = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// reply is a scripted answer.
type reply struct {
	status int
	header map[string]string
	body   string
}

func (r reply) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Date", testNow.Format(http.TimeFormat))
	for k, v := range r.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(r.status)
	_, _ = w.Write([]byte(r.body))
}

func serve(t testing.TB, h http.Handler, opt Options) *Source {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	opt.BaseURL = server.URL
	opt.Now = func() time.Time { return testNow }
	src, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.opt.Transport.(*http.Transport).CloseIdleConnections() })
	return src
}

var testRepo = repoRef{ID: 42, Node: "R_42", Name: "octo/thing", Language: "Go"}

// jobOf makes a first page of a type.
func jobOf(typ string) domain.JobSpec {
	switch typ {
	case UserProfile, UserEvents:
		return params{}.spec(typ, "user:octo", "", BucketCore)
	case DiscoverReposPushed, DiscoverReposUpdated:
		return params{}.spec(typ, "user:octo", "", BucketGraphQL)
	case CommitStats, RepoPulls, SweepPulls, DiscoverRepo:
		return params{Repo: &testRepo}.spec(typ, "repo:42", "", BucketGraphQL)
	case CheckRepo:
		return params{Repo: &testRepo}.spec(typ, "user:octo", "repo:42", BucketCore)
	case CommitDetail:
		return params{Repo: &testRepo}.spec(typ, "repo:42", "abc123", BucketCore)
	}
	bucket := BucketCore
	if w, ok := walkFor(typ); ok {
		bucket = w.declared().bucket
	}
	return params{Repo: &testRepo}.spec(typ, "repo:42", "", bucket)
}

func callOf(spec domain.JobSpec) source.Call {
	return source.Call{
		Run:   domain.Run{AccountID: testAccount, Login: "octo", Anchor: testNow.Add(-time.Minute)},
		Job:   domain.Job{JobSpec: spec},
		Token: testToken,
	}
}

type outcome struct {
	job    string
	reply  reply
	stored *domain.Page

	verdict    source.Verdict
	kind       domain.FailureKind
	says       string
	retryAfter time.Duration
	parks      time.Duration
	exhausted  bool
	free       bool
	drop       string
	next       string          // page key of the only next job
	gone       document.Reason // of the repository, if it is flagged
	backoff    bool
	cursor     bool
	class      domain.Class
	failures   int
}

const (
	secondary = `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`
	primary   = `{"message":"API rate limit exceeded for user ID 1.","documentation_url":"https://docs.github.com/rest"}`
	blocked   = `{"message":"Repository access blocked","block":{"reason":"dmca","created_at":"2026-01-01T00:00:00Z"}}`
	html      = `<!DOCTYPE html><html><body>Unicorn!</body></html>`
)

var outcomes = map[string]outcome{
	"200": {job: RepoIssues, reply: reply{status: 200, body: `[]`}, verdict: source.Done, cursor: true},
	"200 HTML": {job: RepoIssues, reply: reply{status: 200, body: html},
		verdict: source.Retry, kind: domain.FailureServer, says: "HTML"},
	"200 malformed": {job: RepoIssues, reply: reply{status: 200, body: `[{"id":1`},
		verdict: source.Retry, kind: domain.FailureMalformed, says: "cut off"},
	"200 with a tail": {job: RepoIssues, reply: reply{status: 200, body: `[] []`},
		verdict: source.Retry, kind: domain.FailureMalformed, says: "follows"},
	"200 malformed object": {job: UserProfile, reply: reply{status: 200, body: `{"id":1,}`},
		verdict: source.Retry, kind: domain.FailureMalformed, says: "not valid JSON"},
	"200 malformed GraphQL": {job: CommitStats, reply: reply{status: 200, body: `{"data":{"node":`},
		verdict: source.Retry, kind: domain.FailureMalformed, says: "not valid JSON"},
	"200 other shape": {job: RepoIssues, reply: reply{status: 200, body: `{"message":"hello"}`},
		verdict: source.Retry, kind: domain.FailureMalformed, says: "not a list"},
	"200 empty body": {job: RepoIssues, reply: reply{status: 200},
		verdict: source.Retry, kind: domain.FailureMalformed},
	"301": {job: RepoIssues, reply: reply{status: 301, header: map[string]string{"Location": "/repositories/43/issues?page=1"}},
		verdict: source.Done, next: "#moved"},
	"307": {job: UserProfile, reply: reply{status: 307, header: map[string]string{"Location": "/user/43"}},
		verdict: source.Done, next: "#moved"},
	"301 to another host": {job: RepoIssues, reply: reply{status: 301, header: map[string]string{"Location": "https://evil.example.com/repositories/42/issues"}},
		verdict: source.Retry, kind: domain.FailureServer, says: "another host"},
	"301 to nowhere": {job: RepoIssues, reply: reply{status: 301},
		verdict: source.Fail, kind: domain.FailureInvalid, says: "where to"},
	"304": {job: RepoIssues, reply: reply{status: 304}, stored: &domain.Page{ETag: `"x"`, Next: "/repositories/42/issues?page=2", Items: 100},
		verdict: source.Done, free: true, next: "2"},
	"304, last page": {job: RepoIssues, reply: reply{status: 304}, stored: &domain.Page{ETag: `"x"`, Items: 3},
		verdict: source.Done, free: true, cursor: true},
	"304 unasked": {job: RepoIssues, reply: reply{status: 304},
		verdict: source.Retry, kind: domain.FailureMalformed, free: true},
	"400": {job: RepoIssues, reply: reply{status: 400, body: `{"message":"Problems parsing"}`},
		verdict: source.Fail, kind: domain.FailureInvalid, says: "Problems parsing"},
	"401": {job: RepoIssues, reply: reply{status: 401, body: `{"message":"Bad credentials","status":"401"}`},
		verdict: source.PauseAccount, kind: domain.FailureCredential, says: "SLUICE_GITHUB_TOKEN"},
	"403 primary": {job: RepoIssues, reply: reply{status: 403, body: primary},
		verdict: source.Wait, kind: domain.FailureRateLimited, exhausted: true},
	"403 primary by count": {job: RepoIssues, reply: reply{status: 403, body: `{"message":"Sorry."}`, header: map[string]string{"X-RateLimit-Remaining": "0"}},
		verdict: source.Wait, kind: domain.FailureRateLimited, exhausted: true},
	"429 primary": {job: RepoIssues, reply: reply{status: 429, body: primary},
		verdict: source.Wait, kind: domain.FailureRateLimited, exhausted: true},
	"403 secondary": {job: RepoIssues, reply: reply{status: 403, body: secondary, header: map[string]string{"Retry-After": "17", "X-RateLimit-Remaining": "4000"}},
		verdict: source.Wait, kind: domain.FailureRateLimited, retryAfter: 17 * time.Second, parks: 17 * time.Second},
	"403 secondary, remaining 0": {job: RepoIssues, reply: reply{status: 403, body: secondary, header: map[string]string{"X-RateLimit-Remaining": "0"}},
		verdict: source.Wait, kind: domain.FailureRateLimited, backoff: true},
	"403 secondary by date": {job: RepoIssues, reply: reply{status: 403, body: secondary, header: map[string]string{"Retry-After": testNow.Add(90 * time.Second).Format(http.TimeFormat)}},
		verdict: source.Wait, kind: domain.FailureRateLimited, retryAfter: 90 * time.Second, parks: 90 * time.Second},
	"403 old abuse limit": {job: RepoIssues, reply: reply{status: 403, body: `{"message":"Slow down","documentation_url":"https://developer.github.com/v3/#abuse-rate-limits"}`},
		verdict: source.Wait, kind: domain.FailureRateLimited, backoff: true},
	"429 without a word": {job: RepoIssues, reply: reply{status: 429, body: `{}`},
		verdict: source.Wait, kind: domain.FailureRateLimited, backoff: true},
	"403 permission": {job: RepoIssues, reply: reply{status: 403, body: `{"message":"Resource not accessible by personal access token"}`,
		header: map[string]string{"X-Accepted-GitHub-Permissions": "issues=read", "X-RateLimit-Remaining": "0"}},
		verdict: source.Fail, kind: domain.FailureForbidden, says: "issues=read"},
	"403 scope": {job: RepoIssues, reply: reply{status: 403, body: `{"message":"Must have admin rights"}`,
		header: map[string]string{"X-Accepted-OAuth-Scopes": "repo", "X-OAuth-Scopes": "gist", "X-RateLimit-Remaining": "12"}},
		verdict: source.Fail, kind: domain.FailureForbidden, says: "needs one of the scopes repo and has gist"},
	"403 blocked": {job: RepoIssues, reply: reply{status: 403, body: blocked},
		verdict: source.Done, drop: "repo:42", gone: document.GoneBlocked, cursor: true},
	"403 no User-Agent": {job: RepoIssues, reply: reply{status: 403, body: `<html>Request forbidden by administrative rules. Please make sure your request has a User-Agent header</html>`},
		verdict: source.Fail, kind: domain.FailureInvalid, says: "User-Agent"},
	"403 many bad logins": {job: RepoIssues, reply: reply{status: 403, body: `{"message":"Maximum number of login attempts exceeded. Please try again later."}`},
		verdict: source.Wait, kind: domain.FailureRateLimited, backoff: true},
	"404 login": {job: UserProfile, reply: reply{status: 404, body: `{"message":"Not Found"}`}, class: domain.ClassDiscovery,
		verdict: source.FailRun, kind: domain.FailureNotFound, says: `unknown login "octo"`},
	"404 login that was there": {job: UserProfile, reply: reply{status: 404, body: `{"message":"Not Found"}`},
		verdict: source.Retry, kind: domain.FailureServer, says: "no longer has"},
	"404 login that was there, again": {job: UserProfile, reply: reply{status: 404, body: `{"message":"Not Found"}`}, failures: 1,
		verdict: source.FailRun, kind: domain.FailureNotFound, says: `unknown login "octo"`},
	"404 repository, second look": {job: CheckRepo, reply: reply{status: 404, body: `{"message":"Not Found"}`},
		verdict: source.Done, drop: "repo:42", gone: document.GoneDeleted, cursor: true},
	"403 second look": {job: CheckRepo, reply: reply{status: 403, body: `{"message":"Resource not accessible by personal access token"}`},
		verdict: source.Done, drop: "repo:42", gone: document.GoneForbidden, cursor: true},
	"451 second look": {job: CheckRepo, reply: reply{status: 451, body: blocked},
		verdict: source.Done, drop: "repo:42", gone: document.GoneBlocked, cursor: true},
	"200 second look, another owner": {job: CheckRepo, reply: reply{status: 200, body: `{"id":42,"node_id":"R_42","full_name":"eva/thing"}`},
		verdict: source.Done, drop: "repo:42", gone: document.GoneTransferred, cursor: true},
	"200 second look, renamed": {job: CheckRepo, reply: reply{status: 200, body: `{"id":42,"node_id":"R_42","full_name":"octo/renamed"}`},
		verdict: source.Done, next: "again", cursor: true},
	"502 second look": {job: CheckRepo, reply: reply{status: 502, body: html}, verdict: source.Retry, kind: domain.FailureServer},
	"404 repository": {job: RepoIssues, reply: reply{status: 404, body: `{"message":"Not Found"}`},
		verdict: source.Done, drop: "repo:42", next: "repo:42"},
	"409 empty": {job: RepoCommits, reply: reply{status: 409, body: `{"message":"Git Repository is empty."}`},
		verdict: source.Done, cursor: true},
	"409 other": {job: RepoCommits, reply: reply{status: 409, body: `{"message":"Conflict"}`},
		verdict: source.Retry, kind: domain.FailureServer},
	"410": {job: RepoIssues, reply: reply{status: 410, body: `{"message":"Issues are disabled for this repo"}`},
		verdict: source.Fail, kind: domain.FailureGone, says: "disabled"},
	"422 deep paging": {job: RepoIssues, reply: reply{status: 422, body: `{"message":"Pagination with the page parameter is not supported for large datasets, please use cursor based pagination (after/before)"}`},
		verdict: source.Fail, kind: domain.FailureInvalid, says: "too long"},
	"422 events": {job: UserEvents, reply: reply{status: 422, body: `{"message":"pagination is limited for this resource"}`},
		verdict: source.Done, cursor: true},
	"422 commit": {job: CommitDetail, reply: reply{status: 422, body: `{"message":"No commit found for SHA: abc123"}`},
		verdict: source.Done},
	"422 other": {job: RepoIssues, reply: reply{status: 422, body: `{"message":"Validation Failed"}`},
		verdict: source.Fail, kind: domain.FailureInvalid, says: "Validation Failed"},
	"451": {job: RepoCommits, reply: reply{status: 451, body: blocked},
		verdict: source.Done, drop: "repo:42", gone: document.GoneBlocked, cursor: true},
	"500 JSON": {job: RepoIssues, reply: reply{status: 500, body: `{"message":"Server Error"}`},
		verdict: source.Retry, kind: domain.FailureServer, says: "Server Error"},
	"502 HTML": {job: CommitStats, reply: reply{status: 502, body: html},
		verdict: source.Retry, kind: domain.FailureServer, says: "HTML page"},
	"503 with a time": {job: RepoIssues, reply: reply{status: 503, header: map[string]string{"Retry-After": "5"}},
		verdict: source.Retry, kind: domain.FailureServer, retryAfter: 5 * time.Second},
	"GraphQL limit": {job: CommitStats, reply: reply{status: 200, body: `{"data":null,"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}`, header: map[string]string{"X-RateLimit-Remaining": "4"}},
		verdict: source.Wait, kind: domain.FailureRateLimited, exhausted: true},
	"GraphQL limit, other name": {job: CommitStats, reply: reply{status: 200, body: `{"errors":[{"type":"RATE_LIMIT","message":"API rate limit exceeded"}]}`},
		verdict: source.Wait, kind: domain.FailureRateLimited, exhausted: true},
	"GraphQL secondary": {job: CommitStats, reply: reply{status: 200, body: `{"errors":[{"message":"You have exceeded a secondary rate limit."}]}`, header: map[string]string{"Retry-After": "9"}},
		verdict: source.Wait, kind: domain.FailureRateLimited, retryAfter: 9 * time.Second, parks: 9 * time.Second},
	"GraphQL unknown login": {job: DiscoverReposPushed, reply: reply{status: 200, body: `{"data":{"user":null},"errors":[{"type":"NOT_FOUND","path":["user"],"message":"Could not resolve to a User"}]}`},
		class: domain.ClassDiscovery, verdict: source.FailRun, kind: domain.FailureNotFound, says: "octo"},
	"GraphQL repository gone": {job: CommitStats, reply: reply{status: 200, body: `{"data":{"node":null},"errors":[{"type":"NOT_FOUND","path":["node"],"message":"Could not resolve to a node"}]}`},
		verdict: source.Done, drop: "repo:42", next: "repo:42"},
	"GraphQL forbidden": {job: CommitStats, reply: reply{status: 200, body: `{"data":{"node":null},"errors":[{"type":"FORBIDDEN","path":["node"],"message":"Resource not accessible by integration"}]}`},
		verdict: source.Fail, kind: domain.FailureForbidden},
	"GraphQL failure": {job: CommitStats, reply: reply{status: 200, body: `{"data":null,"errors":[{"message":"Something went wrong while executing your query."}]}`},
		verdict: source.Retry, kind: domain.FailureServer, says: "Something went wrong"},
	"GraphQL without a field, in older words": {job: SweepPulls, reply: reply{status: 200, body: `{"errors":[{"path":["query","node"],"extensions":{"code":"undefinedField"},"message":"Field 'fullDatabaseId' doesn't exist on type 'PullRequest'"}]}`},
		verdict: source.Done, next: "plain:"},
	"GraphQL without a field, by REST": {job: CommitStats, reply: reply{status: 200, body: `{"errors":[{"path":["query","node"],"extensions":{"code":"undefinedField"},"message":"Field 'x' doesn't exist on type 'Commit'"}]}`},
		verdict: source.Done, next: "rest"},
	"GraphQL blocked": {job: CommitStats, reply: reply{status: 200, body: `{"data":{"node":null},"errors":[{"type":"FORBIDDEN","path":["node"],"message":"Repository access blocked"}]}`},
		verdict: source.Done, drop: "repo:42", gone: document.GoneBlocked, cursor: true},
	"GraphQL without result": {job: CommitStats, reply: reply{status: 200, body: `{}`},
		verdict: source.Retry, kind: domain.FailureMalformed},
	"GraphQL empty repository": {job: CommitStats, reply: reply{status: 200, body: `{"data":{"node":{"defaultBranchRef":null}}}`},
		verdict: source.Done, cursor: true},
	"GraphQL redirect": {job: CommitStats, reply: reply{status: 307, header: map[string]string{"Location": "/graphql2"}},
		verdict: source.Retry, kind: domain.FailureServer, says: "not followed"},
	"GraphQL redirect of a walk": {job: DiscoverReposPushed, reply: reply{status: 302, header: map[string]string{"Location": "/login"}},
		verdict: source.Retry, kind: domain.FailureServer, says: "not followed"},
	"GraphQL redirect to nowhere": {job: CommitStats, reply: reply{status: 302},
		verdict: source.Retry, kind: domain.FailureServer, says: "not followed"},
}

func TestEveryAnswerHasItsMeaning(t *testing.T) {
	for name, want := range outcomes {
		t.Run(name, func(t *testing.T) {
			src := serve(t, want.reply, Options{})
			call := callOf(jobOf(want.job))
			call.Job.Failures = want.failures
			if want.class != 0 {
				call.Job.Class = want.class
			}
			call.Stored = want.stored
			got := src.Call(context.Background(), call)
			want.check(t, got)
		})
	}
}

func (want outcome) check(t *testing.T, got source.Result) {
	t.Helper()
	if got.Verdict != want.verdict {
		t.Fatalf("verdict %d, want %d (%v)", got.Verdict, want.verdict, got.Failure)
	}
	if kind := kindOf(got.Failure); kind != want.kind {
		t.Errorf("failure %v, want kind %q", got.Failure, want.kind)
	}
	if want.says != "" && !strings.Contains(got.Failure.Message, want.says) {
		t.Errorf("message %q does not say %q", got.Failure.Message, want.says)
	}
	if got.RetryAfter != want.retryAfter || got.Quota.RetryAfter != want.parks {
		t.Errorf("retry after %s, parks %s; want %s, %s", got.RetryAfter, got.Quota.RetryAfter, want.retryAfter, want.parks)
	}
	if got.Quota.Exhausted != want.exhausted || got.Free != want.free || got.Drop != want.drop {
		t.Errorf("exhausted %t free %t drop %q; want %t %t %q", got.Quota.Exhausted, got.Free, got.Drop, want.exhausted, want.free, want.drop)
	}
	if want.stored != nil && want.verdict == source.Done && got.Items != want.stored.Items {
		t.Errorf("%d items, the remembered page had %d", got.Items, want.stored.Items)
	}
	if !got.Quota.Date.Equal(testNow) {
		t.Errorf("date %s, want %s", got.Quota.Date, testNow)
	}
	want.checkEffects(t, got)
}

func (want outcome) checkEffects(t *testing.T, got source.Result) {
	t.Helper()
	next := ""
	if len(got.Next) > 0 {
		next = got.Next[0].PageKey
	}
	if next != want.next || len(got.Next) > 1 {
		t.Errorf("next %q, want %q", next, want.next)
	}
	if has := len(got.Cursors) > 0; has != want.cursor {
		t.Errorf("cursors %v, want one: %t", got.Cursors, want.cursor)
	}
	var absences []document.Absence
	if want.gone != "" {
		absences = []document.Absence{{Account: testAccount, Repository: testRepo.ID, Why: want.gone, Since: testNow}}
	}
	if !reflect.DeepEqual(got.Absences, absences) {
		t.Errorf("absences %v, want %v", got.Absences, absences)
	}
	if got.Quota.Backoff != want.backoff {
		t.Errorf("backoff %t, want %t", got.Quota.Backoff, want.backoff)
	}
}

func kindOf(f *domain.Failure) domain.FailureKind {
	if f == nil {
		return domain.FailureNone
	}
	return f.Kind
}
