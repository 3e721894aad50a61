package github

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const discovery = `query($login:String!,$after:String,$n:Int=5){
  user(login:$login){ databaseId repositories(first:$n,after:$after,orderBy:{field:PUSHED_AT,direction:DESC},ownerAffiliations:[OWNER]){
    totalCount pageInfo{hasNextPage endCursor} nodes{ databaseId nameWithOwner isEmpty pushedAt owner{login ... on User{databaseId}} } } }
  rateLimit{cost limit remaining resetAt used nodeCount} }`

func TestDiscoveryFindsEveryRepository(t *testing.T) {
	s := New(Options{Seed: seed(t), Accounts: 3})
	for _, login := range s.Logins() {
		var found []float64
		var previous string
		vars := map[string]any{"login": login}
		for {
			r := query(t, s, s.Token(login), discovery, vars)
			if len(r.Errors) > 0 || r.status != 200 {
				t.Fatalf("%d %s", r.status, r.body)
			}
			repos := dig(t, r.Data, "user", "repositories")
			for _, n := range dig(t, repos, "nodes").([]any) {
				found = append(found, dig(t, n, "databaseId").(float64))
				pushed := dig(t, n, "pushedAt").(string)
				if previous != "" && pushed > previous || dig(t, n, "owner", "login") != login {
					t.Fatalf("%v after %s", n, previous)
				}
				previous = pushed
			}
			if dig(t, repos, "pageInfo", "hasNextPage") != true {
				break
			}
			vars["after"] = dig(t, repos, "pageInfo", "endCursor")
		}
		truth, _ := s.Truth(login, time.Time{})
		slices.Sort(found)
		if len(slices.Compact(found)) != len(truth.Repositories) {
			t.Fatalf("%s: found %d of %d", login, len(found), len(truth.Repositories))
		}
	}
}

const historyQuery = `query($o:String!,$n:String!,$after:String,$until:GitTimestamp){ repository(owner:$o,name:$n){ defaultBranchRef{ name target{ ...on Commit{ oid
  history(first:40,after:$after,until:$until){ totalCount pageInfo{hasNextPage endCursor} nodes{ ...c } } } } } } }
  fragment c on Commit { oid committedDate additions deletions changedFilesIfAvailable author{name user{login databaseId}} parents{totalCount} message }`

func historyOf(t *testing.T, s *Server, token string, repo Repo, vars map[string]any, between func()) []map[string]any {
	t.Helper()
	var out []map[string]any
	vars["o"], vars["n"] = repo.Owner, repo.Name
	for {
		r := query(t, s, token, historyQuery, vars)
		h := dig(t, r.Data, "repository", "defaultBranchRef", "target", "history")
		for _, n := range dig(t, h, "nodes").([]any) {
			out = append(out, n.(map[string]any))
		}
		if dig(t, h, "pageInfo", "hasNextPage") != true {
			return out
		}
		vars["after"] = dig(t, h, "pageInfo", "endCursor")
		between()
	}
}

func TestHistoryCarriesStatistics(t *testing.T) {
	s := New(plain(1, 130, 0, 0))
	login, token, repo := first(t, s)
	truth, _ := s.Truth(login, time.Time{})
	want := truth.Repositories[0].Commits
	got := historyOf(t, s, token, repo, map[string]any{}, func() {})
	if len(got) != 130 {
		t.Fatalf("%d commits", len(got))
	}
	for i, c := range got {
		w := want[len(want)-1-i]
		if c["oid"] != w.SHA || c["additions"] != float64(w.Additions) || c["deletions"] != float64(w.Deletions) {
			t.Fatalf("commit %d: %v, want %+v", i, c, w)
		}
		user, _ := dig(t, c, "author", "user").(map[string]any)
		if (user == nil) != (w.AuthorLogin == "") || user != nil && user["login"] != w.AuthorLogin {
			t.Fatalf("author %v, want %q", user, w.AuthorLogin)
		}
	}
}

func TestHistoryCursorIsStableUnderPushes(t *testing.T) {
	s := New(plain(1, 130, 0, 0))
	_, token, repo := first(t, s)
	got := historyOf(t, s, token, repo, map[string]any{}, func() {
		if err := s.Push(repo, 3); err != nil {
			t.Fatal(err)
		}
	})
	seen := map[any]int{}
	for _, c := range got {
		seen[c["oid"]]++
	}
	if len(got) != 130 || len(seen) != 130 {
		t.Fatalf("%d commits, %d different ones; want the 130 that were there", len(got), len(seen))
	}
}

const itemsQuery = `query($o:String!,$n:String!,$after:String){ repository(owner:$o,name:$n){ items: pullRequests(first:7,after:$after,orderBy:{field:UPDATED_AT,direction:ASC}){
  totalCount pageInfo{hasNextPage endCursor} edges{cursor node{__typename number fullDatabaseId state updatedAt mergedAt merged additions commits{totalCount} author{login ...on User{databaseId}} baseRepository{nameWithOwner} mergedBy{login}}} } } }`

func TestPullsByUpdateUnderEdits(t *testing.T) {
	s := New(plain(1, 5, 10, 30))
	login, token, repo := first(t, s)
	truth, _ := s.Truth(login, time.Time{})
	seen := map[int]bool{}
	vars := map[string]any{"o": repo.Owner, "n": repo.Name}
	for {
		r := query(t, s, token, itemsQuery, vars)
		items := dig(t, r.Data, "repository", "items")
		for _, e := range dig(t, items, "edges").([]any) {
			seen[int(dig(t, e, "node", "number").(float64))] = true
			if dig(t, e, "node", "__typename") != "PullRequest" {
				t.Fatalf("%v", e)
			}
		}
		if dig(t, items, "pageInfo", "hasNextPage") != true {
			break
		}
		vars["after"] = dig(t, items, "pageInfo", "endCursor")
		// Touching one that was already listed moves it to the end and must
		// not hide any other.
		for _, p := range truth.Repositories[0].Pulls {
			if seen[p.Number] {
				if len(seen) < 20 {
					if err := s.EditIssue(repo, p.Number); err != nil {
						t.Fatal(err)
					}
				}
				break
			}
		}
	}
	if len(seen) != 30 {
		t.Fatalf("saw %d of 30 pull requests", len(seen))
	}
}

func TestPartialDataNamesItsPath(t *testing.T) {
	s := New(plain(2, 3, 4, 4))
	login, token, repo := first(t, s)
	gone := s.Repos(login)[1]
	if err := s.DeleteRepo(gone); err != nil {
		t.Fatal(err)
	}
	truth, _ := s.Truth(login, time.Time{})
	number := truth.Repositories[0].Pulls[0].Number
	r := query(t, s, token, fmt.Sprintf(`{ a: repository(owner:%q,name:%q){ p1: pullRequest(number:%d){number fullDatabaseId} p2: pullRequest(number:999){number} }
		b: repository(owner:%q,name:%q){ name } c: user(login:"nobody"){login} d: node(id:"R_kgDOzzz"){id} }`, repo.Owner, repo.Name, number, gone.Owner, gone.Name), nil)
	if r.status != 200 || dig(t, r.Data, "a", "p1", "number") != float64(number) || dig(t, r.Data, "b") != nil || dig(t, r.Data, "c") != nil {
		t.Fatalf("%s", r.body)
	}
	var paths []string
	for _, e := range r.Errors {
		if e.Type != "NOT_FOUND" {
			t.Fatalf("error %+v", e)
		}
		paths = append(paths, fmt.Sprint(e.Path))
	}
	if want := []string{"[a p2]", "[b]", "[c]", "[d]"}; !slices.Equal(paths, want) {
		t.Fatalf("paths %v, want %v", paths, want)
	}
	if r.Errors[2].Message != "Could not resolve to a User with the login of 'nobody'." {
		t.Fatalf("message %q", r.Errors[2].Message)
	}
}

func TestNodesByID(t *testing.T) {
	s := New(plain(1, 3, 4, 4))
	_, token, repo := first(t, s)
	r := query(t, s, token, `query($o:String!,$n:String!){ viewer{id} repository(owner:$o,name:$n){ id issues(first:1){nodes{id}} pullRequests(last:1){nodes{id}} defaultBranchRef{target{id}} } }`, map[string]any{"o": repo.Owner, "n": repo.Name})
	ids := []any{
		dig(t, r.Data, "viewer", "id"), dig(t, r.Data, "repository", "id"), dig(t, r.Data, "repository", "issues", "nodes", 0, "id"),
		dig(t, r.Data, "repository", "pullRequests", "nodes", 0, "id"), dig(t, r.Data, "repository", "defaultBranchRef", "target", "id"), "X_bad",
	}
	got := query(t, s, token, `query($ids:[ID!]!){ nodes(ids:$ids){ __typename id } }`, map[string]any{"ids": ids})
	for i, want := range []string{"User", "Repository", "Issue", "PullRequest", "Commit"} {
		if dig(t, got.Data, "nodes", i, "__typename") != want || dig(t, got.Data, "nodes", i, "id") != ids[i] {
			t.Errorf("node %d: %v, want a %s", i, dig(t, got.Data, "nodes", i), want)
		}
	}
	if dig(t, got.Data, "nodes", 5) != nil || len(got.Errors) != 1 || fmt.Sprint(got.Errors[0].Path) != "[nodes 5]" {
		t.Errorf("%s", got.body)
	}
}

func TestQueryCost(t *testing.T) {
	s := New(plain(3, 3, 3, 3))
	login, token, _ := first(t, s)
	cases := []struct {
		query       string
		cost, nodes float64
	}{
		{`viewer{login}`, 1, 0},
		{`user(login:"L"){repositories(first:100){nodes{name}}}`, 1, 100},
		{`user(login:"L"){repositories(first:100){nodes{issues(first:1){nodes{updatedAt}} pullRequests(first:1){nodes{updatedAt}}}}}`, 2, 300},
		{`user(login:"L"){repositories(first:50){nodes{issues(first:100){nodes{labels(first:60){nodes{name}}}}}}}`, 51, 305050},
	}
	for _, c := range cases {
		r := query(t, s, token, "{"+strings.ReplaceAll(c.query, "L", login)+" rateLimit{cost nodeCount}}", nil)
		if dig(t, r.Data, "rateLimit", "cost") != c.cost || dig(t, r.Data, "rateLimit", "nodeCount") != c.nodes {
			t.Errorf("%s: %v, want cost %v, nodes %v", c.query, r.Data["rateLimit"], c.cost, c.nodes)
		}
	}
	if got := s.Audit().GraphQLPoints; got != 1+1+2+51 {
		t.Errorf("audit says %d points", got)
	}
}

func TestRefusedQueries(t *testing.T) {
	s := New(plain(3, 3, 3, 3))
	login, token, _ := first(t, s)
	cases := []struct{ name, query, kind, message string }{
		{"no page size", `{viewer{repositories{nodes{name}}}}`, "MISSING_PAGINATION_BOUNDARIES", "You must provide a `first` or `last` value to properly paginate the `repositories` connection."},
		{"too large a page", `{viewer{repositories(first:101){nodes{name}}}}`, "EXCESSIVE_PAGINATION", "Requesting 101 records on the `repositories` connection exceeds the `first` limit of 100 records."},
		{"empty page", `{viewer{repositories(first:0){nodes{name}}}}`, "EXCESSIVE_PAGINATION", ""},
		{"too many nodes", `{viewer{repositories(first:100){nodes{issues(first:100){nodes{labels(first:100){nodes{name}}}}}}}}`, "MAX_NODE_LIMIT_EXCEEDED", ""},
		{"unknown field", `{viewer{shoeSize}}`, "", "Field 'shoeSize' doesn't exist on type 'User'"},
		{"missing variable", `query($login:String!){user(login:$login){id}}`, "", "Variable $login of type String! was provided invalid value"},
		{"syntax", `{viewer{`, "", ""},
		{"mutation", `mutation{x}`, "", ""},
		{"bad cursor", `{user(login:"` + login + `"){repositories(first:1,after:"nonsense"){nodes{name}}}}`, "INVALID_CURSOR_ARGUMENTS", "`nonsense` does not appear to be a valid cursor."},
	}
	for _, c := range cases {
		r := query(t, s, token, c.query, nil)
		if r.status != 200 || len(r.Errors) != 1 || r.Errors[0].Type != c.kind || c.message != "" && r.Errors[0].Message != c.message {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
		}
	}
	if r := send(s, http.MethodPost, token, "/graphql", []byte("{")); r.status != 400 {
		t.Errorf("bad body: %d", r.status)
	}
	if r := send(s, http.MethodPost, "", "/graphql", []byte("{}")); r.status != 401 {
		t.Errorf("anonymous: %d", r.status)
	}
	if r := send(s, http.MethodPost, token, "/api/graphql", []byte(`{"query":"{viewer{login}}"}`)); r.status != 200 || !strings.Contains(string(r.body), login) {
		t.Errorf("Enterprise: %d %s", r.status, r.body)
	}
}

func TestGraphQLWindow(t *testing.T) {
	c := newClock()
	o := plain(3, 3, 3, 3)
	o.Now, o.Limits = c.Now, Limits{GraphQLLimit: 4, Window: 10 * time.Second}
	s := New(o)
	login, token, _ := first(t, s)
	dear := `{viewer{repositories(first:100){nodes{issues(first:1){totalCount} pullRequests(first:1){totalCount} labels: issues(first:2){totalCount}}}} rateLimit{remaining}}`
	r := query(t, s, token, dear, nil)
	if dig(t, r.Data, "rateLimit", "remaining") != 1.0 || r.remaining(t) != 1 || r.header.Get("X-RateLimit-Resource") != "graphql" {
		t.Fatalf("%s %v", r.body, r.header)
	}
	refused := query(t, s, token, dear, nil)
	if refused.status != 200 || len(refused.Errors) != 1 || refused.Errors[0].Type != "RATE_LIMITED" || refused.remaining(t) != 1 {
		t.Fatalf("%d %s", refused.status, refused.body)
	}
	if r := get(s, token, "/users/"+login); r.status != 200 || r.remaining(t) != 4999 {
		t.Fatalf("core is a window of its own: %d", r.status)
	}
	c.advance(11 * time.Second)
	if r := query(t, s, token, dear, nil); len(r.Errors) != 0 {
		t.Fatalf("after the reset: %s", r.body)
	}
	if audit := s.Audit(); audit.BeyondQuota != 1 || audit.GraphQLPoints != 6 {
		t.Fatalf("%+v", audit)
	}
}

func TestAffiliationsAndContributions(t *testing.T) {
	s := New(Options{Seed: 3, Accounts: 12})
	widened, contributed, foreign := false, false, false
	for _, login := range s.Logins() {
		r := query(t, s, s.Token(login), `query($l:String!){user(login:$l){ all: repositories(first:100){totalCount} own: repositories(first:100,ownerAffiliations:OWNER){totalCount}
			repositoriesContributedTo(first:100){nodes{owner{login}}} pullRequests(first:100,orderBy:{field:CREATED_AT,direction:DESC}){nodes{author{login} repository{owner{login}}}} }}`, map[string]any{"l": login})
		u := dig(t, r.Data, "user")
		widened = widened || dig(t, u, "all", "totalCount").(float64) > dig(t, u, "own", "totalCount").(float64)
		for _, n := range dig(t, u, "repositoriesContributedTo", "nodes").([]any) {
			contributed = contributed || dig(t, n, "owner", "login") != login
		}
		for _, n := range dig(t, u, "pullRequests", "nodes").([]any) {
			if dig(t, n, "author", "login") != login {
				t.Fatalf("%s did not write %v", login, n)
			}
			foreign = foreign || dig(t, n, "repository", "owner", "login") != login
		}
	}
	if !widened || !contributed || !foreign {
		t.Fatalf("collaborations %v, contributions %v, pulls to others %v", widened, contributed, foreign)
	}
}

func TestDirectivesAndMergedSelections(t *testing.T) {
	s := New(plain(1, 3, 3, 3))
	login, token, _ := first(t, s)
	r := query(t, s, token, `query($yes:Boolean=true){ viewer{ login @skip(if:$yes) id @include(if:$yes) } viewer{ databaseId ...on Actor{url} }
		owner:repositoryOwner(login:"`+login+`"){ ...on Organization{teamsUrl} ...on User{login} } }`, nil)
	viewer := dig(t, r.Data, "viewer").(map[string]any)
	if _, skipped := viewer["login"]; skipped || viewer["id"] == nil || viewer["databaseId"] == nil || viewer["url"] != site+login || len(viewer) != 3 {
		t.Fatalf("%s", r.body)
	}
	if owner := dig(t, r.Data, "owner").(map[string]any); owner["login"] != login || len(owner) != 1 {
		t.Fatalf("%s", r.body)
	}
}
