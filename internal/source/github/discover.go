package github

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// discoverRequest asks for one page of a walk over repositories. A walk of
// everything goes up: what changes meanwhile moves ahead and is met again. Only
// the walk for pushes since the last run goes down, and stops early.
func discoverRequest(s *Source, c *call) request {
	q := s.queriesOf(c)
	query := q.updated
	switch {
	case c.Job.Type == DiscoverContributed:
		query = q.contributed
	case c.Job.Type == DiscoverReposPushed && c.walkSince().IsZero():
		query = q.pushedUp
	case c.Job.Type == DiscoverReposPushed:
		query = q.pushedDown
	}
	return graphqlRequest(query, map[string]any{"login": c.Run.Login, "after": cursorOrNull(c.p.After), "first": c.size()})
}

// readDiscovery reads one page of a walk: the repositories themselves, and the
// jobs of those that have something to collect.
func readDiscovery(s *Source, c *call, a *answer, user gjson.Result, unknown holes) source.Result {
	k, ok := readConnection(user.Get("repositories"), unknown.at("repositories"))
	owner := text(user.Get("id"))
	if !ok || owner == "" {
		return incomplete(c, a, "a list of repositories", unknown)
	}
	d := s.discovery(c, a)
	d.owner = owner
	if c.p.page() == 1 && c.Job.Type == DiscoverReposUpdated && !c.p.Alone {
		c.p.Unmet = c.unmet()
	}
	at := -1
	n, wrong := eachNode(a.body, k.nodes, func(i int) (int, string) {
		at++
		return d.node(a.body, i, unknown.node("repositories", at))
	})
	if wrong != "" {
		return incomplete(c, a, wrong, unknown)
	}
	d.res.Items = n
	d.share()
	d.addPacks()
	d.finish(k)
	if c.Job.Type == DiscoverReposPushed {
		who := view(a.body).Get("data.viewer.databaseId")
		d.res.Owner = ownerName(c.Token, who)
		org, viewer := int64(0), who.Int()
		if d.res.Owner == "" {
			viewer = 0 // an app, which is no member of what it is installed in
		}
		d.res.Target = domain.TargetUser
		if text(user.Get("__typename")) == "Organization" {
			d.res.Target, org = domain.TargetOrganization, user.Get("databaseId").Int()
		}
		if c.p.page() == 1 && !c.p.Alone {
			// First, so that no bucket is idle while another is busy.
			roots := s.otherRoots(c.Run, org, viewer)
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

// discovery is one page of repositories being turned into jobs.
type discovery struct {
	s   *Source
	c   *call
	res source.Result
	// since is the walk's own cursor; zero when it collects everything.
	since time.Time
	// asked and fetched are when the page was asked for and answered.
	asked, fetched time.Time
	// owner is the account's node id.
	owner string
	// small are repositories whose pull requests are asked for together.
	small []packed
	// nested are repositories whose pull requests are asked at once for what belongs to
	// them, and nestedOrder in which order.
	nested      map[*nested][]packed
	nestedOrder []*nested
	// shared are parts of repositories that another account may have.
	shared []sharedPart
	// adopted says that the cursors are another account's.
	adopted bool
	// done is set when the rest of the walk is older than its cursor.
	done bool
	// tag is given to the walks that begin; again says that they begin anew.
	tag   string
	again bool
}

func (s *Source) discovery(c *call, a *answer) *discovery {
	return &discovery{s: s, c: c, res: source.Result{Verdict: source.Done}, since: c.walkSince(), fetched: s.serverTime(a), asked: s.opt.askedAt(a), tag: c.p.Tag}
}

// finish goes on with the walk, or moves its cursor at the end. The walk keeps
// the cursor it began with: this one may move before its last page is read.
func (d *discovery) finish(k connection) {
	if d.c.p.Alone {
		return
	}
	downward := d.c.Job.Type == DiscoverReposPushed && !d.since.IsZero()
	if d.done {
		k.after = ""
	}
	d.c.p.Since = seconds(d.since)
	if !d.c.walkOn(&d.res, k, !downward) {
		d.res.Cursors = append(d.res.Cursors, d.c.cursor(d.c.Job.Type))
		d.c.lookForUnmet(&d.res)
	} else if !downward {
		d.expectRest(k.total, d.res.Items)
	}
}

// node reads one repository of a page. What an error or a null leaves unknown
// of it is asked for by a job of its own.
func (d *discovery) node(body []byte, i int, unknown holes) (end int, wrong string) {
	r, end := readRepository(body, i)
	threads := d.c.Job.Type != DiscoverReposPushed
	switch {
	case end < 0:
		return end, "a repository is cut off"
	case isNull(body, i) && unknown.hidden():
		// The token may not see it; if it was collected before, it is missed
		// at the end of the walk.
		return end, ""
	case r.ID == 0 || r.Node == "":
		return end, d.nameless()
	}
	d.met(r.ID)
	r.External = !d.c.owns(r.Name)
	if r.whole() && !d.c.takes(&r) {
		return end, ""
	}
	if len(unknown.withoutTold(&r)) > 0 || !r.whole() || threads && !r.threads.known() {
		d.askAlone(r)
		return end, ""
	}
	d.repository(r)
	return end, ""
}

// nameless is a repository of which not even the id is known. The page is asked
// for again, smaller and smaller; when nothing but the repository is left of
// it, the walk goes on without, and the page is left to a job of its own.
func (d *discovery) nameless() (wrong string) {
	if d.c.size() > 1 || d.c.Job.Failures < lastTry || d.c.p.Alone {
		return "a repository has no id"
	}
	p := d.c.p
	p.Alone, p.First, p.Unmet = true, 1, nil
	d.res.Next = append(d.res.Next, p.spec(d.c.Job.Type, d.c.Job.Resource, "alone:"+p.After, d.c.Job.Bucket))
	return ""
}

// askAlone asks for one repository that a page told only in part.
func (d *discovery) askAlone(r repository) {
	if d.c.foundGone(r.resource()) {
		d.res.Next = append(d.res.Next, d.c.check(repoRef{ID: r.ID, Node: r.Node}, false))
		return
	}
	p := params{Repo: &repoRef{ID: r.ID, Node: r.Node, Name: r.Name}, Owner: d.owner, At: d.c.p.At, Plain: d.c.p.Plain}
	d.res.Next = append(d.res.Next, p.spec(DiscoverRepo, p.Repo.resource(), "", BucketGraphQL))
}

// repository adds a repository's document and jobs to the page.
func (d *discovery) repository(r repository) {
	walk := d.c.Job.Type
	if walk == DiscoverReposPushed && !d.since.IsZero() && r.pushed.Before(d.s.from(d.since)) {
		// A repository that was never pushed to may stand anywhere.
		d.done = d.done || !r.pushed.IsZero()
		return
	}
	if d.withheld(r) {
		return
	}
	d.listed(r)
	d.res.Documents = append(d.res.Documents, d.document(r))
	// A walk of everything by push time misses no repository, so the other
	// walk adds commits only where this one may have stopped or been outrun.
	if walk != DiscoverReposUpdated || !d.since.IsZero() {
		d.collect(r, partCommits)
	}
	if walk != DiscoverReposPushed {
		d.collect(r, partThreads)
	}
}

// withheld reports whether nothing can be asked of a repository now. GitHub
// lists one that it blocks; a look by its id tells why. One that was found gone
// and is listed is looked at before it is believed to be back, so that a
// blocked one does not come and go with every run.
func (d *discovery) withheld(r repository) bool {
	gone := d.c.foundGone(r.resource()) && !d.again
	switch {
	case gone && r.disabled:
		return true
	case gone:
		d.res.Next = append(d.res.Next, d.c.check(r.repoRef, false))
		return true
	case r.disabled && !d.again:
		d.res.Documents = append(d.res.Documents, d.document(r))
		d.res.Next = append(d.res.Next, d.c.check(r.repoRef, false))
		return true
	}
	return false
}
