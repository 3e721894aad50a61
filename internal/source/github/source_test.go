package github

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

func TestCheckLogin(t *testing.T) {
	src, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, login := range []string{"a", "octocat", "Octo-Cat-9", "0", strings.Repeat("x", 39), "mona_acme", "a/b", "octo/.github", "Octo-Cat/x_y.z-1"} {
		if err := src.CheckLogin(login); err != nil {
			t.Errorf("%q is refused: %v", login, err)
		}
	}
	for _, login := range []string{"", "-a", "a-", "a--b", "a b", "a/", "/b", "a/b/c", "a/..", "a/.", "a/b c", "a/" + strings.Repeat("x", 101), "a_", "_a", "a_b_c", "é", "a\n", "../x", "a?b", strings.Repeat("x", 40), "a-_b"} {
		err := src.CheckLogin(login)
		if domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q: error %v", login, err)
		}
		if _, planErr := src.Plan(domain.Run{Login: login}); planErr == nil {
			t.Errorf("%q: a run was planned", login)
		}
	}
}

func TestPlanAndAsk(t *testing.T) {
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{}, "DISCOVER_REPOS_PUSHED/graphql USER_PROFILE/core DISCOVER_REPOS_UPDATED/graphql USER_EVENTS/core"},
		{Options{NoGraphQL: true}, "USER_PROFILE/core DISCOVER_REPOS_UPDATED/core USER_EVENTS/core"},
		{Options{Contributed: true}, "DISCOVER_REPOS_PUSHED/graphql USER_PROFILE/core DISCOVER_REPOS_UPDATED/graphql DISCOVER_REPOS_CONTRIBUTED/graphql USER_EVENTS/core"},
	} {
		src, err := New(c.opt)
		if err != nil {
			t.Fatal(err)
		}
		specs, err := src.Plan(domain.Run{Login: "octo"})
		if err != nil {
			t.Fatal(err)
		}
		if !c.opt.NoGraphQL {
			specs = append(specs, src.otherRoots(domain.Run{Login: "octo"}, 0, 0)...)
		}
		var got []string
		for _, s := range specs {
			got = append(got, s.Type+"/"+s.Bucket)
			ask, err := src.Ask(s, "me")
			if err != nil || ask.Owner != "me" || ask.Bucket != s.Bucket || ask.Cost < 1 || ask.Points != 1 || ask.Endpoint == "" {
				t.Errorf("ask %+v (%v)", ask, err)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("planned %v, want %s", got, c.want)
		}
	}
}

func TestUnknownJobsAreRefused(t *testing.T) {
	src := serve(t, reply{status: 200, body: `[]`}, Options{})
	for _, spec := range []domain.JobSpec{
		{Type: "NO_SUCH", Bucket: BucketCore}, {Type: UserProfile, Bucket: BucketGraphQL},
		{Type: RepoIssues, Bucket: BucketCore, Resource: "repo:1"},
		{Type: RepoIssues, Bucket: BucketCore, Resource: "repo:1", Params: []byte(`{`)},
	} {
		res := src.Call(context.Background(), callOf(spec))
		if res.Verdict != source.Fail || !res.Free || kindOf(res.Failure) != domain.FailureInvalid {
			t.Errorf("%+v: %+v", spec, res)
		}
	}
	if _, err := src.Ask(domain.JobSpec{Type: "NO_SUCH"}, "me"); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("ask: %v", err)
	}
}

func TestLinkHeader(t *testing.T) {
	header := `<https://h/r?page=2>; rel="next", <https://h/r?page=9&after=Y%3D%3D>; rel="last"; title="a,b", <https://h/x>; rel="prev first"`
	for rel, want := range map[string]string{"next": "https://h/r?page=2", "last": "https://h/r?page=9&after=Y%3D%3D", "first": "https://h/x", "none": ""} {
		if got := linkRel(header, rel); got != want {
			t.Errorf("%s: %q, want %q", rel, got, want)
		}
	}
	for _, bad := range []string{"", "garbage", "<", "><", "<a; rel=next"} {
		if got := linkRel(bad, "next"); got != "" {
			t.Errorf("%q gives %q", bad, got)
		}
	}
	if n := pageNumber("https://h/r?page=9&after=x"); n != 9 {
		t.Errorf("page %d", n)
	}
}

// TestPagesAreAnnounced follows the counts from the first page on.
func TestPagesAreAnnounced(t *testing.T) {
	src := serve(t, reply{status: 200, body: `[]`, header: map[string]string{
		"Link": `</repositories/42/issues?page=2>; rel="next", </repositories/42/issues?page=3>; rel="last"`, "ETag": `"e"`}}, Options{})
	spec := jobOf(RepoIssues)
	for _, want := range []struct {
		pages    int
		key      string
		expected int
	}{{3, "2", 2}, {0, "3", 1}, {0, "4", 1}} {
		res := src.Call(context.Background(), callOf(spec))
		if res.Pages != want.pages || len(res.Next) != 1 || res.Next[0].PageKey != want.key || res.Next[0].Expected != want.expected {
			t.Fatalf("got %d pages, next %+v; want %+v", res.Pages, res.Next, want)
		}
		if len(res.Stored) != 1 || res.Stored[0].Key != src.StoredKey(spec) || res.Stored[0].ETag != `"e"` || res.Stored[0].Next == "" {
			t.Errorf("stored %+v, key %q", res.Stored, src.StoredKey(spec))
		}
		spec = res.Next[0]
	}
}

func pullJSON(number int) string {
	return fmt.Sprintf(`{"id":"PR_%d","databaseId":%d,"number":%d,"title":"t","state":"MERGED","createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-02T00:00:00Z","additions":1,"deletions":2}`, number, 1000+number, number)
}

func TestBatchAsksOnceMoreForWhatIsMissing(t *testing.T) {
	body := `{"data":{"nodes":[` + pullJSON(1) + `,null,null,` + pullJSON(4) + `]},"errors":[` +
		`{"type":"NOT_FOUND","path":["nodes",1],"message":"gone"},{"path":["nodes",2],"message":"Something went wrong"}]}`
	src := serve(t, reply{status: 200, body: body}, Options{})
	then := &params{Repo: &testRepo, URL: "/repositories/42/issues?page=2", Page: 2, Changes: true}
	job := params{Repo: &testRepo, IDs: []string{"PR_1", "PR_2", "PR_3", "PR_4"}, Then: then, At: 1}.spec(RepoPulls, "repo:42", "ids:1", BucketGraphQL)
	res := src.Call(context.Background(), callOf(job))
	if res.Verdict != source.Done || len(res.Documents) != 2 || len(res.Next) != 1 || len(res.Cursors) != 0 {
		t.Fatalf("result %+v (%v)", res, res.Failure)
	}
	p, err := parseParams(res.Next[0].Params)
	if err != nil || len(p.IDs) != 1 || p.IDs[0] != "PR_3" || p.Then == nil || res.Next[0].PageKey == job.PageKey {
		t.Errorf("asks again for %v with %+v", p.IDs, res.Next[0])
	}
	src = serve(t, reply{status: 200, body: `{"data":{"nodes":[null]},"errors":[{"path":["nodes",0],"message":"Something went wrong"}]}`}, Options{})
	if res := src.Call(context.Background(), callOf(res.Next[0])); res.Verdict != source.Retry || kindOf(res.Failure) != domain.FailureServer {
		t.Errorf("still missing: %+v (%v)", res, res.Failure)
	}
}

// What a server does not know in the words of older ones either, and REST does not have,
// ends in plain words.
func TestAFieldThatNoWordsHave(t *testing.T) {
	src := serve(t, reply{status: 200, body: `{"errors":[{"path":["query","node"],"extensions":{"code":"undefinedField"},"message":"Field 'stargazerCount' doesn't exist on type 'Repository'"}]}`}, Options{})
	res := src.Call(context.Background(), callOf(params{Repo: &testRepo, At: 1, Plain: true}.spec(SweepPulls, "repo:42", "", BucketGraphQL)))
	if res.Verdict != source.Fail || kindOf(res.Failure) != domain.FailureInvalid || !strings.Contains(res.Failure.Error(), "--no-graphql") {
		t.Errorf("%+v (%v)", res, res.Failure)
	}
}

// GitHub has no list of the files of a change that it cannot compare, and says so by a
// null without an error. The others count, and nothing is said to be gone.
func TestAPullRequestWhosePartsGitHubDoesNotTell(t *testing.T) {
	files := `{"totalCount":1,"pageInfo":{"hasNextPage":false,"endCursor":null},"nodes":[{"path":"a.go","additions":1,"deletions":2,"changeType":"ADDED"}]}`
	body := `{"data":{"node":{"pullRequests":{"totalCount":2,"pageInfo":{"hasNextPage":false,"endCursor":null},"nodes":[` +
		`{"id":"PR_1","number":1,"updatedAt":"2026-01-02T00:00:00Z","files":null},` +
		`{"id":"PR_2","number":2,"updatedAt":"2026-01-02T00:00:00Z","files":` + files + `}]}}}}`
	for _, typ := range []string{RepoPullFiles, SweepPullFiles} {
		src := serve(t, reply{status: 200, body: body}, Options{Resources: []string{"pull_files"}})
		res := src.Call(context.Background(), callOf(params{Repo: &testRepo, At: 1, Start: 1}.spec(typ, "repo:42", "", BucketGraphQL)))
		if res.Verdict != source.Done || len(res.Documents) != 1 || len(res.Cursors) != 1 || len(res.Absences) != 0 {
			t.Errorf("%s: %+v (%v)", typ, res, res.Failure)
		}
	}
}

func TestPackGivesEachRepositoryItsDue(t *testing.T) {
	page := func(node string, next bool, pulls ...string) string {
		return fmt.Sprintf(`{"id":%q,"pullRequests":{"totalCount":1,"pageInfo":{"hasNextPage":%t,"endCursor":"C"},"nodes":[%s]}}`, node, next, strings.Join(pulls, ","))
	}
	body := `{"data":{"nodes":[` + page("A", false, pullJSON(1)) + `,null,null,` + page("D", true, pullJSON(2)) + `]},"errors":[` +
		`{"type":"NOT_FOUND","path":["nodes",1],"message":"gone"},{"path":["nodes",2,"pullRequests"],"message":"Something went wrong"}]}`
	src := serve(t, reply{status: 200, body: body}, Options{})
	job := params{Repos: []repoRef{{ID: 1, Node: "A"}, {ID: 2, Node: "B"}, {ID: 3, Node: "C"}, {ID: 4, Node: "D"}}}.spec(RepoPulls, "user:octo", "repos:1", BucketGraphQL)
	res := src.Call(context.Background(), callOf(job))
	var got []string
	for _, d := range res.Documents {
		got = append(got, fmt.Sprintf("doc %s %s of %d deleted=%t", d.Kind, d.Name, d.Repository, d.Deleted))
	}
	for _, a := range res.Absences {
		got = append(got, fmt.Sprintf("gone %d", a.Repository))
	}
	for _, n := range res.Next {
		got = append(got, fmt.Sprintf("job %s %s %q", n.Type, n.Resource, n.PageKey))
	}
	for _, c := range res.Cursors {
		got = append(got, "cursor "+c.Resource)
	}
	want := []string{
		"doc pull 1001 of 1 deleted=false", "doc pull 1002 of 4 deleted=false",
		`job CHECK_REPO user:octo "repo:2"`, `job REPO_PULLS repo:3 ""`, `job REPO_PULLS repo:4 "C"`, "cursor REPO_PULLS repo:1",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestUnmeasuredCommitIsAskedForAlone(t *testing.T) {
	body := `{"data":{"node":{"defaultBranchRef":{"target":{"history":{"totalCount":2,"pageInfo":{"hasNextPage":false},"nodes":[` +
		`{"oid":"aaa","committedDate":"2026-01-01T00:00:00Z","additions":1,"deletions":0},` +
		`{"oid":"bbb","committedDate":"2026-01-01T00:00:00Z","additions":null,"deletions":null}]}}}}},"errors":[{"message":"timeout","path":["node","defaultBranchRef","target","history","nodes",1,"additions"]}]}`
	res := serve(t, reply{status: 200, body: body}, Options{}).Call(context.Background(), callOf(jobOf(CommitStats)))
	if len(res.Documents) != 2 || len(res.Next) != 1 || res.Next[0].Type != CommitDetail || res.Next[0].PageKey != "bbb" {
		t.Fatalf("result %+v (%v)", res, res.Failure)
	}
	if !res.Documents[0].Version.After(res.Documents[1].Version) {
		t.Error("a measured copy must win over an unmeasured one")
	}
	if len(res.Stored) != 1 || res.Stored[0].ETag != "aaa" || res.Stored[0].Items != 2 {
		t.Errorf("proof %+v", res.Stored)
	}
}

func TestLargePayloadsLoseTheirPatches(t *testing.T) {
	commit := func(patch, message int) string {
		return fmt.Sprintf(`{"sha":"abc","commit":{"message":%q,"committer":{"date":"2026-01-01T00:00:00Z"}},"author":{"login":"octo"},"stats":{"additions":5,"deletions":6},"files":[{"filename":"a.go","patch":%q},{"filename":"b.go"}]}`,
			strings.Repeat("m", message), strings.Repeat("+", patch))
	}
	for name, c := range map[string]struct {
		body      string
		truncated bool
		files     int
	}{
		"small": {commit(100, 10), false, 2}, "large patch": {commit(9000, 10), true, 2}, "large message": {commit(10, 9000), true, 2},
	} {
		res := serve(t, reply{status: 200, body: c.body}, Options{MaxPayload: 4000}).Call(context.Background(), callOf(jobOf(CommitDetail)))
		if len(res.Documents) != 1 {
			t.Fatalf("%s: %+v (%v)", name, res, res.Failure)
		}
		doc := res.Documents[0]
		if doc.Truncated != c.truncated || len(doc.Raw) > 4000 || doc.Additions != 5 || doc.Deletions != 6 || !doc.Measured || doc.Author != "octo" {
			t.Errorf("%s: %d bytes, fields %+v", name, len(doc.Raw), doc.Fields)
		}
		var raw struct {
			SHA   string
			Files []map[string]any
		}
		if err := json.Unmarshal(doc.Raw, &raw); err != nil || raw.SHA != "abc" || len(raw.Files) != c.files {
			t.Errorf("%s: payload %s (%v)", name, doc.Raw[:min(len(doc.Raw), 200)], err)
		}
	}
}

// TestDocumentsCarryTheirFields reads one thing of each kind.
func TestDocumentsCarryTheirFields(t *testing.T) {
	body := ` [ {"id":5,"node_id":"I_5","number":3,"title":"a \"title\"","state":"closed","user":{"login":"eva"},"closed_by":{"login":"tom"},` +
		`"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-03T00:00:00Z","closed_at":"2026-01-02T00:00:00Z"},` +
		`{"id":6,"node_id":"PR_6","number":4,"pull_request":{"url":"x"},"user":null} ] `
	src := serve(t, reply{status: 200, body: body}, Options{})
	res := src.Call(context.Background(), callOf(jobOf(RepoIssues)))
	if len(res.Documents) != 1 || res.Items != 2 {
		t.Fatalf("result %+v (%v)", res, res.Failure)
	}
	doc := res.Documents[0]
	if doc.Key != (document.Key{Account: testAccount, Kind: KindIssue, Name: "5"}) || doc.Title != `a "title"` || doc.Author != "eva" ||
		doc.ClosedBy != "tom" || doc.Number != 3 || doc.Repository != 42 || doc.Language != "Go" || doc.Version != doc.UpdatedAt ||
		doc.ClosedAt.Sub(doc.CreatedAt).Hours() != 24 || !strings.HasPrefix(string(doc.Raw), `{"id":5,`) || !json.Valid(doc.Raw) {
		t.Errorf("document %+v, raw %s", doc, doc.Raw)
	}
}
