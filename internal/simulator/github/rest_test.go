package github

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestListingsHoldTheWholeTruth(t *testing.T) {
	s := New(Options{Seed: seed(t), Accounts: 4, Limits: Limits{Disabled: true}})
	for _, login := range s.Logins() {
		truth, err := s.Truth(login, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range truth.Repositories {
			checkRepository(t, s, s.Token(login), r)
		}
		var ids []string
		walk(t, s, s.Token(login), "/users/"+login+"/events?per_page=100", func(r reply) {
			var page []struct{ ID string }
			r.decode(t, &page)
			for _, e := range page {
				ids = append(ids, e.ID)
			}
		})
		if !slices.Equal(ids, truth.Events) {
			t.Fatalf("%s: events %v, want %v", login, ids, truth.Events)
		}
	}
}

type listedItem struct {
	Number    int
	ID        int64
	State     string
	UpdatedAt time.Time  `json:"updated_at"`
	MergedAt  *time.Time `json:"merged_at"`
	Pull      *struct{}  `json:"pull_request"`
}

func checkRepository(t *testing.T, s *Server, token string, r TruthRepository) {
	t.Helper()
	base := "/repos/" + r.FullName
	if r.Empty {
		if got := get(s, token, base+"/commits"); got.status != http.StatusConflict || got.message(t) != "Git Repository is empty." {
			t.Fatalf("empty repository: %d %s", got.status, got.body)
		}
	} else {
		var shas []string
		walk(t, s, token, base+"/commits?per_page=50", func(r reply) {
			var page []struct{ SHA string }
			r.decode(t, &page)
			for _, c := range page {
				shas = append(shas, c.SHA)
			}
		})
		slices.Reverse(shas)
		slices.SortStableFunc(r.Commits, func(a, b TruthCommit) int { return a.CommittedAt.Compare(b.CommittedAt) })
		if want := slices.Collect(func(yield func(string) bool) {
			for _, c := range r.Commits {
				yield(c.SHA)
			}
		}); !slices.Equal(shas, want) {
			t.Fatalf("%s: %d commits, want %d", r.FullName, len(shas), len(want))
		}
	}
	if r.IssuesDisabled {
		if got := get(s, token, base+"/issues"); got.status != http.StatusGone {
			t.Fatalf("issues disabled: %d", got.status)
		}
	} else {
		compareItems(t, r.FullName, listItems(t, s, token, base+"/issues?state=all&per_page=30", false), r.Issues)
	}
	compareItems(t, r.FullName, listItems(t, s, token, base+"/pulls?state=all&sort=updated&per_page=20", true), r.Pulls)
}

func listItems(t *testing.T, s *Server, token, target string, pulls bool) map[int]listedItem {
	t.Helper()
	out := map[int]listedItem{}
	walk(t, s, token, target, func(r reply) {
		var page []listedItem
		r.decode(t, &page)
		for _, it := range page {
			if pulls || it.Pull == nil {
				out[it.Number] = it
			}
		}
	})
	return out
}

func compareItems(t *testing.T, repo string, got map[int]listedItem, want []TruthItem) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d items, want %d", repo, len(got), len(want))
	}
	for _, w := range want {
		g := got[w.Number]
		if g.ID != w.ID || g.State != w.State || !g.UpdatedAt.Equal(w.UpdatedAt) {
			t.Fatalf("%s#%d: %+v, want %+v", repo, w.Number, g, w)
		}
	}
}

func TestLinkHeader(t *testing.T) {
	s := New(plain(1, 95, 0, 0))
	_, token, repo := first(t, s)
	cases := []struct {
		query string
		rels  []string
		count int
	}{
		{"", []string{"last", "next"}, 30},
		{"?page=2", []string{"first", "last", "next", "prev"}, 30},
		{"?page=4", []string{"first", "prev"}, 5},
		{"?per_page=100", nil, 95},
		{"?per_page=1000", nil, 95},
		{"?per_page=-1&page=0", []string{"last", "next"}, 30},
		{"?page=9", []string{"first", "prev"}, 0},
	}
	for _, c := range cases {
		r := get(s, token, "http://api.test"+repo.path("/commits"+c.query))
		var page []any
		r.decode(t, &page)
		if got := slices.Sorted(maps.Keys(links(r))); !slices.Equal(got, c.rels) || len(page) != c.count {
			t.Errorf("%q: rels %v, %d items; want %v, %d", c.query, got, len(page), c.rels, c.count)
		}
		for rel, url := range links(r) {
			if !strings.HasPrefix(url, fmt.Sprintf("http://api.test/repositories/%d/commits?", repoIDBase)) {
				t.Errorf("%q: %s is %s", c.query, rel, url)
			}
		}
	}
	r := get(s, token, "http://ghe.test/api/v3"+repo.path("/commits"))
	if !strings.HasPrefix(links(r)["next"], "http://ghe.test/api/v3/repositories/") {
		t.Errorf("Enterprise: next is %s", links(r)["next"])
	}
}

func TestConditionalRequests(t *testing.T) {
	s := New(plain(1, 40, 5, 5))
	_, token, repo := first(t, s)
	fresh := get(s, token, repo.path("/issues?state=all"))
	etag := fresh.header.Get("ETag")
	if etag == "" || fresh.remaining(t) != 4999 {
		t.Fatalf("etag %q, remaining %d", etag, fresh.remaining(t))
	}
	same := get(s, token, repo.path("/issues?state=all"), "If-None-Match", etag)
	if same.status != http.StatusNotModified || len(same.body) != 0 || same.header.Get("Link") != "" || same.remaining(t) != 4999 {
		t.Fatalf("304: status %d, %d bytes, remaining %d", same.status, len(same.body), same.remaining(t))
	}
	if err := s.EditIssue(repo, 3); err != nil {
		t.Fatal(err)
	}
	changed := get(s, token, repo.path("/issues?state=all"), "If-None-Match", etag)
	if changed.status != http.StatusOK || changed.header.Get("ETag") == etag || changed.remaining(t) != 4998 {
		t.Fatalf("after an edit: %d, etag %s, remaining %d", changed.status, changed.header.Get("ETag"), changed.remaining(t))
	}
	anonymous := get(s, "", repo.path("/commits"))
	again := get(s, "", repo.path("/commits"), "If-None-Match", anonymous.header.Get("ETag"))
	if again.status != http.StatusNotModified || again.remaining(t) != 58 {
		t.Fatalf("without a token a 304 costs: status %d, remaining %d", again.status, again.remaining(t))
	}
}

func TestStatuses(t *testing.T) {
	s := New(plain(4, 3, 3, 3))
	login, token, _ := first(t, s)
	repos := s.Repos(login)
	for _, err := range []error{s.RenameRepo(repos[1], "fresh-name"), s.DeleteRepo(repos[2]), s.BlockRepo(repos[3]), s.DeleteIssue(repos[0], 2)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	revoked := s.Token2(login)
	s.RevokeToken(revoked)
	cases := []struct {
		name, token, target string
		headers             []string
		status              int
		message             string
	}{
		{"user", token, "/users/" + login, nil, 200, ""},
		{"viewer", token, "/user", nil, 200, ""},
		{"viewer without a token", "", "/user", nil, 401, "Requires authentication"},
		{"unknown user", token, "/users/nobody", nil, 404, "Not Found"},
		{"unknown path", token, "/nothing/here", nil, 404, "Not Found"},
		{"bad token", "ghp_wrong", "/users/" + login, nil, 401, "Bad credentials"},
		{"revoked token", revoked, "/users/" + login, nil, 401, "Bad credentials"},
		{"unknown version", token, "/user", []string{"X-GitHub-Api-Version", "1999-01-01"}, 400, `"1999-01-01" is not a supported version.`},
		{"known version", token, "/user", []string{"X-GitHub-Api-Version", "2026-03-10"}, 200, ""},
		{"renamed", token, repos[1].path("/commits?per_page=2"), nil, 301, "Moved Permanently"},
		{"deleted", token, repos[2].path("/commits"), nil, 404, "Not Found"},
		{"blocked", token, repos[3].path("/commits"), nil, 451, "Repository access blocked"},
		{"deleted issue", token, repos[0].path("/issues/2"), nil, 410, "This issue was deleted"},
		{"issue", token, repos[0].path("/issues/1"), nil, 200, ""},
		{"bad since", token, repos[0].path("/issues?since=yesterday"), nil, 422, "Validation Failed"},
		{"bad state", token, repos[0].path("/pulls?state=odd"), nil, 422, "Validation Failed"},
		{"too deep events", token, "/users/" + login + "/events?per_page=100&page=4", nil, 422, "In order to keep the API fast for everyone, pagination is limited for this resource."},
		{"unknown sha", token, repos[0].path("/commits/" + strings.Repeat("0", 40)), nil, 422, "No commit found for SHA: " + strings.Repeat("0", 40)},
		{"branch", token, repos[0].path("/commits/main"), nil, 200, ""},
	}
	for _, c := range cases {
		r := get(s, c.token, c.target, c.headers...)
		if r.status != c.status || c.message != "" && r.message(t) != c.message {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
		}
	}
	moved := get(s, token, repos[1].path("/commits?per_page=2"))
	target := pathOf(moved.header.Get("Location"))
	if target != fmt.Sprintf("/repositories/%d/commits?per_page=2", repoIDBase+1) {
		t.Fatalf("redirected to %s", target)
	}
	if r := get(s, token, target); r.status != 200 {
		t.Fatalf("redirect leads to %d", r.status)
	}
	if r := get(s, token, "/repos/"+login+"/fresh-name"); r.status != 200 {
		t.Fatalf("new name: %d", r.status)
	}
	bare := get(s, token, "/user", "User-Agent", "")
	if bare.status != 403 || !strings.HasPrefix(bare.header.Get("Content-Type"), "text/html") {
		t.Fatalf("without a User-Agent: %d %s", bare.status, bare.header.Get("Content-Type"))
	}
}

func TestPrivateRepositoriesHideFromOthers(t *testing.T) {
	s := New(Options{Seed: 1, Accounts: 60})
	for a := range 60 {
		for _, r := range s.world.ownedRepos(a, a) {
			if !r.private {
				continue
			}
			owner, other := s.world.token(a, 1), s.world.token((a+1)%60, 1)
			path := "/repos/" + r.fullName()
			if get(s, owner, path).status != 200 || get(s, other, path).status != 404 || get(s, "", path).status != 404 {
				t.Fatalf("%s is not private", path)
			}
			return
		}
	}
	t.Fatal("no private repository in this world")
}

func TestLargeIssueListingsPageByCursor(t *testing.T) {
	o := plain(1, 1, 70, 50)
	o.LargeIssues = 60
	s := New(o)
	_, token, repo := first(t, s)
	if err := s.DeleteIssue(repo, 7); err != nil {
		t.Fatal(err)
	}
	if r := get(s, token, repo.path("/issues?state=all&per_page=20&page=4")); r.status != 422 || !strings.HasPrefix(r.message(t), "Pagination with the page parameter is not supported") {
		t.Fatalf("deep page: %d %s", r.status, r.body)
	}
	seen := map[int]int{}
	edited := false
	walk(t, s, token, repo.path("/issues?state=all&per_page=20&sort=created&direction=asc"), func(r reply) {
		var page []listedItem
		r.decode(t, &page)
		for _, it := range page {
			seen[it.Number]++
		}
		if next := links(r)["next"]; next != "" && (!strings.Contains(next, "after=") || !strings.Contains(next, "page=")) {
			t.Fatalf("next is %s", next)
		}
		if !edited {
			edited = true
			if err := s.DeleteIssue(repo, 20); err != nil {
				t.Fatal(err)
			}
		}
	})
	for n := 1; n <= 120; n++ {
		if n != 7 && seen[n] != 1 {
			t.Fatalf("issue %d was seen %d times", n, seen[n])
		}
	}
}

func TestCommitDetailAddsUp(t *testing.T) {
	s := New(plain(1, 2000, 0, 0))
	_, token, repo := first(t, s)
	r := s.world.repo(0, 0)
	paged := false
	for i := range 2000 {
		c := s.world.commit(r, i)
		if i > 5 && c.files <= filesPerPage {
			continue
		}
		var files, additions, deletions int64
		pages := walk(t, s, token, repo.path("/commits/"+c.sha), func(r reply) {
			var detail struct {
				Stats struct{ Additions, Deletions, Total int64 }
				Files []struct{ Additions, Deletions int64 }
			}
			r.decode(t, &detail)
			for _, f := range detail.Files {
				files++
				additions += f.Additions
				deletions += f.Deletions
			}
			if detail.Stats.Additions != c.additions || detail.Stats.Total != c.additions+c.deletions {
				t.Fatalf("stats %+v", detail.Stats)
			}
		})
		if files != int64(c.files) || additions != c.additions || deletions != c.deletions {
			t.Fatalf("commit %d: %d files +%d -%d, want %d +%d -%d", i, files, additions, deletions, c.files, c.additions, c.deletions)
		}
		paged = paged || pages > 1
	}
	if !paged {
		t.Fatal("no commit in this world has more than 300 files")
	}
}

func TestItemsAreOfRealisticSize(t *testing.T) {
	s := New(plain(1, 60, 60, 60))
	_, token, repo := first(t, s)
	for tail, bounds := range map[string][2]int{"/commits": {1300, 2600}, "/issues": {1400, 3000}, "/pulls": {2200, 4500}} {
		var page []json.RawMessage
		r := get(s, token, repo.path(tail))
		r.decode(t, &page)
		if size := len(r.body) / len(page); size < bounds[0] || size > bounds[1] {
			t.Errorf("%s: %d bytes per item, want %v", tail, size, bounds)
		}
	}
}

func TestSinceFiltersByUpdate(t *testing.T) {
	c := newClock()
	o := plain(1, 10, 30, 30)
	o.Now = c.Now
	s := New(o)
	_, token, repo := first(t, s)
	mark := c.Now().UTC().Format(time.RFC3339)
	c.advance(time.Minute)
	for _, n := range []int{4, 9} {
		if err := s.EditIssue(repo, n); err != nil {
			t.Fatal(err)
		}
	}
	got := listItems(t, s, token, repo.path("/issues?state=all&sort=created&direction=asc&since="+mark), true)
	if numbers := slices.Sorted(maps.Keys(got)); !slices.Equal(numbers, []int{4, 9}) {
		t.Fatalf("changed since: %v", numbers)
	}
	if err := s.Push(repo, 3); err != nil {
		t.Fatal(err)
	}
	var page []any
	get(s, token, repo.path("/commits?since="+mark)).decode(t, &page)
	if len(page) != 3 {
		t.Fatalf("%d commits since, want 3", len(page))
	}
	get(s, token, repo.path("/commits?until="+mark)).decode(t, &page)
	if len(page) != 10 {
		t.Fatalf("%d commits until, want 10", len(page))
	}
}

func TestCommitsFromAStartingPoint(t *testing.T) {
	c := newClock()
	o := plain(1, 3, 0, 0)
	o.Now = c.Now
	s := New(o)
	_, token, repo := first(t, s)
	if err := s.Push(repo, 5); err != nil { // all within one second
		t.Fatal(err)
	}
	from := shaOf(s.world.repo(0, 0).key, 4)
	var page []struct{ SHA string }
	get(s, token, repo.path("/commits?sha="+from)).decode(t, &page)
	if len(page) != 5 || page[0].SHA != from {
		t.Fatalf("%d commits, the first %v", len(page), page)
	}
	if r := get(s, token, repo.path("/commits?sha=no-such-branch")); r.status != http.StatusNotFound {
		t.Fatalf("unknown branch: %d", r.status)
	}
}
