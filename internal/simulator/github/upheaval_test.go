package github

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// repoNow finds a repository in the truth by its id.
func repoNow(t *testing.T, s *Server, login string, id int64) TruthRepository {
	t.Helper()
	for _, r := range mustTruth(t, s, login, time.Time{}).Repositories {
		if r.ID == id {
			return r
		}
	}
	t.Fatalf("%s never had repository %d", login, id)
	return TruthRepository{}
}

func shasOf(r TruthRepository) []string {
	var out []string
	for _, c := range r.Commits {
		out = append(out, c.SHA)
	}
	return out
}

// graphQLHistory walks a repository's history by cursor.
func graphQLHistory(t *testing.T, s *Server, token string, repo Repo, size int) []string {
	t.Helper()
	const text = `query H($o:String!,$n:String!,$first:Int!,$after:String){repository(owner:$o,name:$n){defaultBranchRef{target{... on Commit{
		history(first:$first,after:$after){totalCount pageInfo{hasNextPage endCursor} nodes{oid}}}}}}}`
	var out []string
	vars := map[string]any{"o": repo.Owner, "n": repo.Name, "first": size}
	for range 1000 {
		r := query(t, s, token, text, vars)
		history := dig(t, r.Data, "repository", "defaultBranchRef", "target", "history")
		for _, node := range dig(t, history, "nodes").([]any) {
			out = append(out, dig(t, node, "oid").(string))
		}
		if dig(t, history, "pageInfo", "hasNextPage") != true {
			return out
		}
		vars["after"] = dig(t, history, "pageInfo", "endCursor")
	}
	return out
}

func TestForcePushTakesCommitsOffTheBranch(t *testing.T) {
	s := New(plain(1, 30, 0, 0))
	login, token, repo := first(t, s)
	id := repoNow(t, s, login, s.world.repo(0, 0).id).ID
	before := shasOf(repoNow(t, s, login, id))
	if err := s.ForcePush(repo, 5, 2); err != nil {
		t.Fatal(err)
	}
	now := repoNow(t, s, login, id)
	if len(now.Commits) != 27 || !slices.Equal(shasOf(now)[:25], before[:25]) {
		t.Fatalf("%d commits are left", len(now.Commits))
	}
	for i, lost := range now.Lost {
		if lost.Kind != "commit" || lost.SHA != before[25+i] || lost.Why != GoneRewritten || lost.Since.IsZero() {
			t.Fatalf("lost %+v", lost)
		}
	}
	checkRepository(t, s, token, now)
	got := graphQLHistory(t, s, token, repo, 7)
	slices.Reverse(got)
	if !slices.Equal(got, shasOf(now)) {
		t.Fatalf("GraphQL lists %d commits", len(got))
	}
	// Who knows a dropped commit can still read it: that it answers proves nothing.
	if r := get(s, token, repo.path("/commits/"+before[29])); r.status != http.StatusOK {
		t.Fatalf("a dropped commit answers %d", r.status)
	}
	var listed []string
	gjson.ParseBytes(get(s, token, repo.path("/commits?per_page=100&sha="+before[28])).body).ForEach(func(_, v gjson.Result) bool {
		listed = append(listed, v.Get("sha").String())
		return true
	})
	if slices.Reverse(listed); !slices.Equal(listed, before[:29]) {
		t.Fatalf("a dropped commit stands for %d commits, not for 29", len(listed))
	}
	if err := s.ForcePush(repo, 27, 0); err == nil {
		t.Fatal("a branch lost its last commit")
	}
}

func TestLateMergeBringsOldCommits(t *testing.T) {
	s := New(plain(1, 30, 0, 0))
	login, token, repo := first(t, s)
	since := time.Unix(worldEnd, 0).UTC().Format(time.RFC3339)
	if err := s.MergeLate(repo, 3); err != nil {
		t.Fatal(err)
	}
	now := repoNow(t, s, login, s.world.repo(0, 0).id)
	if len(now.Commits) != 34 {
		t.Fatalf("%d commits", len(now.Commits))
	}
	checkRepository(t, s, token, now)
	var recent []struct{ SHA string }
	get(s, token, repo.path("/commits?since="+since)).decode(t, &recent)
	if len(recent) != 1 {
		t.Fatalf("%d commits are newer than the base world, want the merge alone", len(recent))
	}
	if got := graphQLHistory(t, s, token, repo, 5); len(got) != 34 || got[0] != recent[0].SHA {
		t.Fatalf("GraphQL lists %d commits", len(got))
	}
}

func TestTransferredRepositoryIsFoundByIDAndRedirects(t *testing.T) {
	o := plain(2, 3, 3, 3)
	o.Accounts = 3
	s := New(o)
	from, to := s.Logins()[0], s.Logins()[1]
	repo := s.Repos(from)[0]
	id := s.world.repo(0, 0).id
	if err := s.TransferRepo(repo, to); err != nil {
		t.Fatal(err)
	}
	left, arrived := repoNow(t, s, from, id), repoNow(t, s, to, id)
	if left.Gone != GoneTransferred || left.MovedTo != to+"/"+repo.Name || left.GoneSince == nil || left.Commits != nil {
		t.Fatalf("the former owner's truth is %+v", left)
	}
	if arrived.Gone != "" || len(arrived.Commits) != 3 || arrived.Commits[0].AuthorLogin != firstAuthor(s, id) {
		t.Fatalf("the new owner's truth is %+v", arrived)
	}
	checkRepository(t, s, s.Token(to), arrived)
	r := get(s, s.Token(from), repo.path("/issues"))
	if want := fmt.Sprintf("/repositories/%d/issues", id); r.status != 301 || !strings.HasSuffix(r.header.Get("Location"), want) {
		t.Fatalf("the old address answers %d %v", r.status, r.header)
	}
	var about struct {
		FullName string `json:"full_name"`
	}
	get(s, s.Token(from), fmt.Sprintf("/repositories/%d", id)).decode(t, &about)
	node := query(t, s, s.Token(from), `query($id:ID!){node(id:$id){... on Repository{nameWithOwner owner{login}}}}`, map[string]any{"id": repoNodeID(id)})
	if about.FullName != to+"/"+repo.Name || dig(t, node.Data, "node", "nameWithOwner") != about.FullName {
		t.Fatalf("by id it is %q, by node %v", about.FullName, node.Data)
	}
	if owned := len(s.Repos(from)) + len(s.Repos(to)); len(s.Repos(from)) != 1 || owned != 4 {
		t.Fatalf("%d of %d left", len(s.Repos(from)), owned)
	}
	back := Repo{Owner: to, Name: repo.Name}
	if err := s.TransferRepo(back, from); err != nil || repoNow(t, s, from, id).Gone != "" || repoNow(t, s, to, id).Gone != GoneTransferred {
		t.Fatalf("it did not come back: %v", err)
	}
	if err := s.TransferRepo(repo, "somebody-else"); err != nil || repoNow(t, s, from, id).MovedTo != "somebody-else/"+repo.Name {
		t.Fatalf("it did not leave this world: %v", err)
	}
}

// firstAuthor is who wrote the first commit, whoever owns the repository.
func firstAuthor(s *Server, id int64) string {
	r, _ := s.world.repoByID(id)
	return s.world.commit(r, 0).author.login
}

func TestGoneRepositoriesAnswerByTheirReason(t *testing.T) {
	s := New(plain(1, 3, 3, 3))
	login, token, repo := first(t, s)
	id := s.world.repo(0, 0).id
	for _, c := range []struct {
		why        string
		lose, find func(Repo) error
		status     int
		listed     bool
		kind       string
	}{
		{GoneDeleted, s.DeleteRepo, s.RestoreRepo, 404, false, "NOT_FOUND"},
		{GoneNoPermission, s.WithdrawAccess, s.GrantAccess, 404, false, "NOT_FOUND"},
		{GoneBlocked, s.BlockRepo, s.UnblockRepo, 451, true, "FORBIDDEN"},
	} {
		if err := c.lose(repo); err != nil {
			t.Fatal(err)
		}
		truth := repoNow(t, s, login, id)
		if truth.Gone != c.why || truth.Commits != nil || truth.Deleted != (c.why == GoneDeleted) || truth.Blocked != (c.why == GoneBlocked) {
			t.Errorf("%s: the truth is %+v", c.why, truth)
		}
		for _, path := range []string{repo.path(""), repo.path("/commits"), fmt.Sprintf("/repositories/%d", id)} {
			if r := get(s, token, path); r.status != c.status || c.status == 451 && !strings.Contains(string(r.body), `"block":{"reason":`) {
				t.Errorf("%s: %s answers %d %s", c.why, path, r.status, r.body)
			}
		}
		node := query(t, s, token, `query($ids:[ID!]!){nodes(ids:$ids){id}}`, map[string]any{"ids": []string{repoNodeID(id)}})
		if len(node.Errors) != 1 || node.Errors[0].Type != c.kind {
			t.Errorf("%s: as a node it is %s", c.why, node.body)
		}
		walk := query(t, s, token, `{viewer{repositories(first:5,ownerAffiliations:OWNER){nodes{isDisabled isEmpty defaultBranchRef{name} issues{totalCount}}}}}`, nil)
		listed := dig(t, walk.Data, "viewer", "repositories", "nodes").([]any)
		if (len(listed) == 1) != c.listed {
			t.Errorf("%s: GraphQL lists %v", c.why, listed)
		}
		if c.listed && (dig(t, listed[0], "defaultBranchRef") != nil || dig(t, listed[0], "isDisabled") != true) {
			t.Errorf("%s: GraphQL shows %v", c.why, listed[0])
		}
		if err := c.find(repo); err != nil || repoNow(t, s, login, id).Gone != "" {
			t.Fatalf("%s: did not come back: %v", c.why, err)
		}
		if err := c.find(repo); err == nil {
			t.Errorf("%s: came back twice", c.why)
		}
	}
}

func TestPrivateRepositoryIsHiddenFromOthers(t *testing.T) {
	o := plain(1, 3, 3, 3)
	o.Accounts = 2
	s := New(o)
	_, token, repo := first(t, s)
	other := s.Token(s.Logins()[1])
	if err := s.SetPrivate(repo, true); err != nil {
		t.Fatal(err)
	}
	if mine, theirs := get(s, token, repo.path("")).status, get(s, other, repo.path("")).status; mine != 200 || theirs != 404 {
		t.Fatalf("its owner gets %d, others %d", mine, theirs)
	}
	if err := s.SetPrivate(repo, true); err == nil {
		t.Fatal("it became private twice")
	}
	if err := s.SetPrivate(repo, false); err != nil || get(s, other, repo.path("")).status != 200 {
		t.Fatalf("it did not become public again: %v", err)
	}
}

func TestDeletedIssueShiftsPagesAndComesBackUnchanged(t *testing.T) {
	s := New(plain(1, 0, 25, 0))
	login, token, repo := first(t, s)
	numbers := func(page int) (out []int) {
		var items []listedItem
		get(s, token, repo.path(fmt.Sprintf("/issues?state=all&direction=asc&per_page=10&page=%d", page))).decode(t, &items)
		for _, it := range items {
			out = append(out, it.Number)
		}
		return out
	}
	was := repoNow(t, s, login, s.world.repo(0, 0).id).Issues[2]
	s.Before(QueryContains("page=2"), 1, func() {
		if err := s.DeleteIssue(repo, 3); err != nil {
			t.Error(err)
		}
	})
	seen := append(numbers(1), numbers(2)...)
	if slices.Contains(seen, 11) || !slices.Contains(seen, 3) {
		t.Fatalf("pages by number did not shift: %v", seen)
	}
	if err := s.RestoreIssue(repo, 3); err != nil {
		t.Fatal(err)
	}
	if now := repoNow(t, s, login, s.world.repo(0, 0).id).Issues[2]; !reflect.DeepEqual(now, was) {
		t.Fatalf("it came back as %+v, was %+v", now, was)
	}
}
