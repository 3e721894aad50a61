package github

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// discoverRequest asks for one page of a walk over repositories. A walk of
// everything goes up: what changes meanwhile moves ahead and is met again. Only
// the walk for pushes since the last run goes down, and stops early.
func discoverRequest(s *Source, c *call) request {
	query := s.queries.updated
	switch {
	case c.Job.Type == DiscoverContributed:
		query = s.queries.contributed
	case c.Job.Type == DiscoverReposPushed && c.walkSince().IsZero():
		query = s.queries.pushedUp
	case c.Job.Type == DiscoverReposPushed:
		query = s.queries.pushedDown
	}
	return graphqlRequest(query, map[string]any{"login": c.Run.Login, "after": cursorOrNull(c.p.After)})
}

// readDiscovery reads one page of a walk: the repositories themselves, and the
// jobs of those that have something to collect.
func readDiscovery(s *Source, c *call, a *answer, user gjson.Result, errs []graphError) source.Result {
	k, ok := readConnection(user.Get("repositories"))
	if !ok {
		return incomplete("a list of repositories", errs)
	}
	d := s.discovery(c, a)
	d.owner = text(user.Get("id"))
	hidden := hiddenNodes(errs)
	at := -1
	n, wrong := eachNode(a.body, k.nodes, func(i int) (int, string) {
		at++
		if isNull(a.body, i) && hidden[at] {
			return checkValue(a.body, i, 0), ""
		}
		r, end := readRepository(a.body, i)
		return end, d.repository(r)
	})
	if wrong != "" {
		return incomplete(wrong, errs)
	}
	d.res.Items = n
	d.addPacks()
	d.finish(k)
	if c.Job.Type == DiscoverReposPushed {
		d.res.Owner = ownerName(c.Token, view(a.body).Get("data.viewer.databaseId"))
		if c.p.page() == 1 {
			// First, so that no bucket is idle while another is busy.
			roots := s.otherRoots(c.Run)
			if d.fetched.Before(c.Cursors[pollKey(c.Run.Login)]) {
				roots = slices.DeleteFunc(roots, func(r domain.JobSpec) bool { return r.Type == UserEvents })
			}
			d.res.Next = append(roots, d.res.Next...)
		}
	}
	return d.res
}

// ownerName names whose ration a token draws on: all tokens of a user share
// one. Empty if GitHub did not say.
func ownerName(token string, viewer gjson.Result) string {
	// An installation has a ration of its own, which its credential names; its
	// viewer is the app, which all its installations share.
	if strings.HasPrefix(token, "app:") || viewer.Int() == 0 {
		return ""
	}
	return "user:" + strconv.FormatInt(viewer.Int(), 10)
}

// hiddenNodes lists the positions of repositories that the token may not see.
func hiddenNodes(errs []graphError) map[int]bool {
	hidden := map[int]bool{}
	for _, e := range errs {
		if path := e.path.Array(); len(path) >= 4 && (e.isNotFound() || e.isForbidden()) {
			hidden[int(path[3].Int())] = true
		}
	}
	return hidden
}

// discovery is one page of repositories being turned into jobs.
type discovery struct {
	s   *Source
	c   *call
	res source.Result
	// since is the walk's own cursor; zero when it collects everything.
	since   time.Time
	fetched time.Time
	// owner is the account's node id.
	owner string
	// small are repositories whose pull requests are asked for together.
	small []packed
	// done is set when the rest of the walk is older than its cursor.
	done bool
}

func (s *Source) discovery(c *call, a *answer) *discovery {
	return &discovery{s: s, c: c, res: source.Result{Verdict: source.Done}, since: c.walkSince(), fetched: s.serverTime(a)}
}

// finish goes on with the walk, or moves its cursor at the end. The walk keeps
// the cursor it began with: this one may move before its last page is read.
func (d *discovery) finish(k connection) {
	downward := d.c.Job.Type == DiscoverReposPushed && !d.since.IsZero()
	if d.done {
		k.after = ""
	}
	d.c.p.Since = seconds(d.since)
	if !d.c.walkOn(&d.res, k, !downward) {
		d.res.Cursors = append(d.res.Cursors, d.c.cursor(d.c.Job.Type))
	}
}

// repository is what discovery needs to know of a repository.
type repository struct {
	repoRef
	raw                      []byte
	empty, archived          bool
	stars                    int64
	created, updated, pushed time.Time
	commits, issues, pulls   int64
	newestIssue, newestPull  time.Time
	defaultBranch            string
}

func readRepository(body []byte, i int) (r repository, end int) {
	end = members(body, i, func(name string, v gjson.Result) {
		switch name {
		case "id":
			r.Node = text(v)
		case "databaseId":
			r.ID = v.Int()
		case "nameWithOwner":
			r.Name = text(v)
		case "isFork":
			r.Fork = v.Bool()
		case "isPrivate":
			r.Private = v.Bool()
		case "isEmpty":
			r.empty = v.Bool()
		case "isArchived":
			r.archived = v.Bool()
		case "hasIssuesEnabled":
			r.NoIssues = v.Type == gjson.False
		case "stargazerCount":
			r.stars = v.Int()
		case "primaryLanguage":
			r.Language = text(v.Get("name"))
		case "defaultBranchRef":
			r.defaultBranch = text(v.Get("name"))
			r.commits = v.Get("target.history.totalCount").Int()
		case "createdAt":
			r.created = when(v)
		case "updatedAt":
			r.updated = when(v)
		case "pushedAt":
			r.pushed = when(v)
		case "issues":
			r.issues, r.newestIssue = v.Get("totalCount").Int(), when(v.Get("nodes.0.updatedAt"))
		case "pullRequests":
			r.pulls, r.newestPull = v.Get("totalCount").Int(), when(v.Get("nodes.0.updatedAt"))
		}
	})
	r.empty = r.empty || r.defaultBranch == ""
	if end >= 0 {
		r.raw = body[i:end:end]
	}
	return r, end
}

// repository adds a repository's document and jobs to the page.
func (d *discovery) repository(r repository) (wrong string) {
	if r.raw == nil || r.ID == 0 || r.Node == "" || r.Name == "" {
		return "a repository is cut off or has no id or no name"
	}
	r.External = !d.c.owns(r.Name)
	walk := d.c.Job.Type
	if walk == DiscoverReposPushed && !d.since.IsZero() && r.pushed.Before(d.s.from(d.since)) {
		// A repository that was never pushed to may stand anywhere.
		d.done = d.done || !r.pushed.IsZero()
		return ""
	}
	d.res.Documents = append(d.res.Documents, d.document(r))
	// A walk of everything by push time misses no repository, so the other
	// walk adds commits only where this one may have stopped or been outrun.
	if walk != DiscoverReposUpdated || !d.since.IsZero() {
		d.commits(r)
	}
	if walk != DiscoverReposPushed {
		d.issuesAndPulls(r)
		d.addSweeps(r)
	}
	return ""
}

// document is the repository as of now. Its version is when it was fetched,
// not its updatedAt: stars and names change without that, and a copy fetched
// after the repository was marked as deleted must win over the mark.
func (d *discovery) document(r repository) document.Document {
	doc := document.Document{
		Key:     d.c.key(document.KindRepository, formatID(r.ID)),
		Version: d.fetched,
		Raw:     r.raw,
		Fields: document.Fields{
			Repository: r.ID, Title: r.Name, Author: ownerOf(r.Name), Language: r.Language, Stars: r.stars,
			State: repositoryState(r), CreatedAt: r.created, UpdatedAt: latest(r.updated, r.pushed),
			Fork: r.Fork, Private: r.Private, External: r.External,
		},
	}
	d.s.fit(&doc)
	return doc
}

func repositoryState(r repository) string {
	switch {
	case r.archived:
		return "archived"
	case r.empty:
		return "empty"
	}
	return "active"
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// cursorOf is how far one resource of a repository has been collected. Each
// has its own cursor, so that what failed in one run comes back in the next.
func (d *discovery) cursorOf(typ string, r repository) time.Time {
	return d.c.Cursors[CursorKey(typ, r.resource())]
}

func (d *discovery) changed(newest, cursor time.Time) bool {
	return cursor.IsZero() || !newest.Before(d.s.from(cursor))
}

// add adds the first page of a resource that holds about so many items; for a
// walk over changes nobody can say.
func (d *discovery) add(p params, typ string, ref repoRef, bucket string, items int64) {
	p.Repo = &ref
	spec := p.spec(typ, ref.resource(), "", bucket)
	if d.c.Cursors[CursorKey(typ, ref.resource())].IsZero() {
		spec.Expected = max(int((items+pageSize-1)/pageSize), 1)
	}
	d.res.Next = append(d.res.Next, spec)
}

// skip moves the cursor of a resource that has nothing to collect.
func (d *discovery) skip(typ string, ref repoRef) {
	d.res.Cursors = append(d.res.Cursors, domain.Cursor{
		AccountID: d.c.Run.AccountID, Resource: CursorKey(typ, ref.resource()), At: unix(d.c.p.At),
	})
}

func (d *discovery) commits(r repository) {
	if r.empty || !d.changed(r.pushed, d.cursorOf(CommitStats, r)) {
		return
	}
	p := params{}
	if d.s.opt.OnlyOwnCommits {
		p.Owner = d.owner
	}
	d.add(p, CommitStats, r.repoRef, BucketGraphQL, r.commits)
}

// issuesAndPulls decides how a repository's issues and pull requests are
// collected. Pull requests that were never collected as a whole get a walk of
// their own; later the issues walk learns which of them changed.
func (d *discovery) issuesAndPulls(r repository) {
	issuesAt, pullsAt := d.cursorOf(RepoIssues, r), d.cursorOf(RepoPulls, r)
	issues := !r.NoIssues && r.issues > 0 && d.changed(r.newestIssue, issuesAt)
	pulls := r.pulls > 0 && d.changed(r.newestPull, pullsAt)
	if pulls && (pullsAt.IsZero() || r.NoIssues) {
		if pullsAt.IsZero() && r.pulls <= pageSize {
			d.small = append(d.small, packed{r.repoRef, r.pulls})
		} else {
			d.add(params{}, RepoPulls, r.repoRef, BucketGraphQL, r.pulls)
		}
		pulls = false
	} else if !pulls && (pullsAt.IsZero() || issues) {
		// Nothing is newer than what was collected: the cursor keeps up with
		// that of the issues, with which it will bound a later listing.
		d.skip(RepoPulls, r.repoRef)
	}
	switch {
	case pulls:
		d.add(params{Changes: true, Since: d.listingSince(issuesAt, pullsAt)}, RepoIssues, r.repoRef, BucketCore, 0)
	case issues:
		d.add(params{}, RepoIssues, r.repoRef, BucketCore, r.issues+r.pulls)
	case issuesAt.IsZero() && !r.NoIssues:
		d.skip(RepoIssues, r.repoRef)
	}
}

// listingSince bounds an issues walk that stands for both resources by the
// older of their cursors. Zero leaves it to the walk's own.
func (d *discovery) listingSince(issues, pulls time.Time) int64 {
	if issues.IsZero() || issues.Before(pulls) {
		return 0
	}
	return seconds(pulls)
}

// reposRequest is discovery in REST, by creation.
func reposRequest(_ *Source, c *call) request {
	if c.p.URL != "" {
		return request{target: c.p.URL}
	}
	return request{target: "/users/" + url.PathEscape(c.Run.Login) + "/repos?type=owner&sort=created&direction=asc&per_page=100"}
}

// readRepos reads one page of repositories in REST. REST does not tell what
// changed within them: every repository gets its listings, most of which a
// later run finds unchanged at no cost.
func readRepos(s *Source, c *call, a *answer) source.Result {
	d := s.discovery(c, a)
	n, wrong := eachOf(a.body, func(i int) (int, string) {
		r, end := readRESTRepository(a.body, i)
		if r.raw == nil || r.ID == 0 || r.Name == "" {
			return end, "a repository is cut off or has no id or no name"
		}
		r.External = !c.owns(r.Name)
		d.res.Documents = append(d.res.Documents, d.document(r))
		if d.changed(r.pushed, d.cursorOf(RepoCommits, r)) {
			d.add(params{}, RepoCommits, r.repoRef, BucketCore, 0)
		}
		if !r.NoIssues {
			d.add(params{}, RepoIssues, r.repoRef, BucketCore, 0)
		}
		d.add(params{}, RepoPulls, r.repoRef, BucketCore, 0)
		return end, ""
	})
	if wrong != "" {
		return malformed(wrong)
	}
	d.res.Items = n
	c.p.Since = seconds(d.since)
	c.goOn(&d.res, s.linksOf(c, a))
	return d.res
}

func readRESTRepository(body []byte, i int) (r repository, end int) {
	end = members(body, i, func(name string, v gjson.Result) {
		switch name {
		case "id":
			r.ID = v.Int()
		case "node_id":
			r.Node = text(v)
		case "full_name":
			r.Name = text(v)
		case "fork":
			r.Fork = v.Bool()
		case "private":
			r.Private = v.Bool()
		case "archived":
			r.archived = v.Bool()
		case "has_issues":
			r.NoIssues = v.Type == gjson.False
		case "stargazers_count":
			r.stars = v.Int()
		case "language":
			r.Language = text(v)
		case "created_at":
			r.created = when(v)
		case "updated_at":
			r.updated = when(v)
		case "pushed_at":
			r.pushed = when(v)
		}
	})
	if end >= 0 {
		r.raw = body[i:end:end]
	}
	return r, end
}
