package github

import (
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// repository is what discovery needs to know of a repository.
type repository struct {
	repoRef
	raw                       []byte
	empty, archived, disabled bool
	stars                     int64
	created, updated, pushed  time.Time
	commits                   int64
	threads                   threads
	// lists are what was told of lists, by the name of the resource.
	lists map[string]told
	// plain counts the fields without which the repository is not known.
	plain int
	own   document.Values
}

// threads is the number of issues and pull requests and when the newest of each
// changed.
type threads struct {
	issues, pulls           int64
	newestIssue, newestPull time.Time
	// answered counts the connections that were told as a whole.
	answered int
}

// plainFields are those of repositoryFields that cannot be null, counted by
// readRepository.
const plainFields = 8

func (r *repository) whole() bool { return r.raw != nil && r.plain == plainFields && r.Name != "" }

func (t *threads) known() bool { return t.answered == 2 }

func (t *threads) read(v gjson.Result, count *int64, newest *time.Time) {
	total := v.Get("totalCount")
	*count, *newest = total.Int(), when(v.Get("nodes.0.updatedAt"))
	if total.Type == gjson.Number && (*count == 0 || !newest.IsZero()) {
		t.answered++
	}
}

// boolean reads a field that is true or false and counts it.
func (r *repository) boolean(v gjson.Result) bool {
	if v.IsBool() {
		r.plain++
	}
	return v.Bool()
}

func (r *repository) instant(v gjson.Result) time.Time {
	t := when(v)
	if !t.IsZero() {
		r.plain++
	}
	return t
}

func readRepository(body []byte, i int) (r repository, end int) {
	var f document.Fields
	end = members(body, i, func(name string, v gjson.Result) {
		ownRepository(&f, name, v)
		switch name {
		case "id":
			r.Node = text(v)
		case "databaseId":
			r.ID = v.Int()
		case "nameWithOwner":
			r.Name = text(v)
		case "isFork":
			r.Fork = r.boolean(v)
		case "isPrivate":
			r.Private = r.boolean(v)
		case "isEmpty":
			r.empty = r.boolean(v)
		case "isArchived":
			r.archived = r.boolean(v)
		case "isDisabled":
			r.disabled = v.Bool()
		case "hasIssuesEnabled":
			r.NoIssues = !r.boolean(v)
		case "stargazerCount":
			r.stars, r.plain = v.Int(), r.plain+number(v)
		case "primaryLanguage":
			r.Language = text(v.Get("name"))
		case "defaultBranchRef":
			r.commits = v.Get("target.history.totalCount").Int()
		case "createdAt":
			r.created = r.instant(v)
		case "updatedAt":
			r.updated = r.instant(v)
		case "pushedAt":
			r.pushed = when(v)
		case "issues":
			r.threads.read(v, &r.threads.issues, &r.threads.newestIssue)
		case "pullRequests":
			r.threads.read(v, &r.threads.pulls, &r.threads.newestPull)
		default:
			r.readTold(name, v)
		}
	})
	if end >= 0 {
		r.raw, r.own = withoutTold(body[i:end:end]), f.Own
	}
	return r, end
}

// The parts of one repository's discovery.
const (
	partCommits = "commits"
	partThreads = "threads"
)

func repositoryRequest(s *Source, c *call) request {
	q := s.queriesOf(c)
	query := q.repository
	switch c.p.Part {
	case partCommits:
		query = q.repositoryCommits
	case partThreads:
		query = q.repositoryThreads
	}
	return graphqlRequest(query, map[string]any{"id": c.p.Repo.Node})
}

// readOneRepository reads a repository that is asked for alone. What is still
// unknown of it holds up nothing else: it gets a job that asks for just that,
// and fails if it never comes.
func readOneRepository(s *Source, c *call, a *answer, node gjson.Result, unknown holes) source.Result {
	r, end := readRepository(a.body, node.Index)
	branch, rest, other := splitHoles(unknown.withoutTold(&r))
	if end < 0 || r.ID != c.p.Repo.ID || !r.whole() || len(other) > 0 {
		return incomplete(c, a, "a repository", unknown)
	}
	if e, ok := branch.forbidden(); ok && blockedWords(e.message) {
		return source.Result{Verdict: source.Done, Next: []domain.JobSpec{c.check(r.repoRef, false)}}
	}
	r.External = !c.owns(r.Name)
	d := s.discovery(c, a)
	d.owner, d.again, d.res.Items = c.p.Owner, c.p.Tag == againTag, 1
	if !c.takes(&r) || d.withheld(r) {
		return d.res
	}
	switch {
	case c.p.Part == partThreads:
	case len(branch) == 0:
		d.listed(r)
		d.res.Documents = append(d.res.Documents, d.document(r))
		d.collect(r, partCommits)
	case c.p.Part == "":
		d.askPart(partCommits)
	default:
		return incomplete(c, a, "the default branch of a repository", branch)
	}
	switch {
	case c.p.Part == partCommits:
	case len(rest) == 0 && r.threads.known():
		d.collect(r, partThreads)
	case c.p.Part == "":
		d.askPart(partThreads)
	default:
		return incomplete(c, a, "how many issues and pull requests a repository has", rest)
	}
	d.share()
	d.addPacks()
	return d.res
}

// splitHoles tells the parts of a repository apart that may be unknown.
func splitHoles(unknown holes) (branch, threads, other holes) {
	for _, e := range unknown {
		switch {
		case len(e.path) > 0 && e.path[0] == "defaultBranchRef":
			branch = append(branch, e)
		case len(e.path) > 0 && (e.path[0] == "issues" || e.path[0] == "pullRequests"):
			threads = append(threads, e)
		default:
			other = append(other, e)
		}
	}
	return branch, threads, other
}

func (d *discovery) askPart(part string) {
	p := d.c.p
	p.Part = part
	d.res.Next = append(d.res.Next, p.spec(DiscoverRepo, d.c.Job.Resource, p.key(part), BucketGraphQL))
}

// document is the repository as of now. Its version is when it was fetched,
// not its updatedAt: stars and names change without that, and a copy fetched
// after the repository was marked as deleted must win over the mark.
func (d *discovery) document(r repository) document.Document {
	doc := document.Document{
		Key:     d.c.key(KindRepository, formatID(r.ID)),
		Version: d.fetched,
		Raw:     r.raw,
		Fields: document.Fields{
			Repository: r.ID, Title: r.Name, Author: ownerOf(r.Name), Language: r.Language, Stars: r.stars,
			State: repositoryState(r), CreatedAt: r.created, UpdatedAt: latest(r.updated, r.pushed),
			Fork: r.Fork, Private: r.Private, External: r.External, Own: r.own,
		},
	}
	d.s.fit(&doc)
	return doc
}

func repositoryState(r repository) string {
	switch {
	case r.disabled:
		return "blocked"
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
