package github

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// A repository that several accounts with the same credential reach is collected by
// one of them, which leads it. The others copy, by jobs that make no call, what that
// account has: documents, cursors and what stands for pages. Then they are where it
// is, and bring what changed since as they would after a collection of their own. Each
// keeps its own copy, and needs the other no more.
//
// What decides is read before what it stands for: cursors, then pages, then documents.
// So whatever a copied cursor says to be stored was there to be copied.

// shared is what a repository's job knows that may find it copied.
type shared struct {
	// Part is which part of it: commits, or all that discovery by updates finds.
	Part string `json:"part"`
	// What discovery told, as far as it decides what there is to collect.
	Fetched     int64                 `json:"fetched"`
	Empty       bool                  `json:"empty,omitempty"`
	Pushed      int64                 `json:"pushed,omitempty"`
	Commits     int64                 `json:"commits,omitempty"`
	Issues      int64                 `json:"issues,omitempty"`
	Pulls       int64                 `json:"pulls,omitempty"`
	NewestIssue int64                 `json:"newest_issue,omitempty"`
	NewestPull  int64                 `json:"newest_pull,omitempty"`
	Lists       map[string]sharedTold `json:"lists,omitempty"`
	// Wants are the types of the walks that would bring what changed; empty if nothing of
	// the part was ever collected.
	Wants []string `json:"wants,omitempty"`
	// From is the account that it is copied from, 0 before that is known, and Pages what
	// stands for pages of it. Kind and After are how far the copy is.
	From  int64         `json:"from,omitempty"`
	Pages []domain.Page `json:"pages,omitempty"`
	Kind  document.Kind `json:"kind,omitempty"`
	After string        `json:"after,omitempty"`
}

// sharedTold is a told that is kept with a job.
type sharedTold struct {
	Total  int64 `json:"total"`
	Newest int64 `json:"newest,omitempty"`
	All    bool  `json:"all,omitempty"`
}

// mostSharedPages is how many pages of a repository are remembered for another
// account. Who has more lists reads them once without conditions.
const mostSharedPages = 100

// copyDelay is how long a repository waits for the account that collects it, at
// first and at most.
const (
	copyDelay    = time.Second
	mostCopyWait = 30 * time.Second
)

// Adopted implements source.Sharer.
func (s *Source) Adopted(job domain.JobSpec) bool {
	return bytes.Contains(job.Params, []byte(`"adopted":`))
}

// lend lets a call know of other accounts, and of what its own has stored.
func (c *call) lend(ctx context.Context) {
	if c.Shared == nil {
		return
	}
	c.lead = func(resources []string, over domain.Leader) ([]domain.Leader, error) {
		return c.Shared.Lead(ctx, resources, over)
	}
	c.measured = func(key document.Key) bool {
		doc, known, err := c.Shared.Document(ctx, key)
		return err == nil && known && doc.Measured
	}
}

// adopt has the call go by the cursors that its repository has from another account, if
// there are any.
func (c *call) adopt() bool {
	if c.p.Repo == nil || len(c.p.Repo.Adopted) == 0 || c.Job.Type == CopyRepo {
		return false
	}
	c.Cursors = c.p.Repo.adopted(c.Cursors)
	return true
}

// adopted are cursors of which those of a repository are replaced.
func (r *repoRef) adopted(cursors map[string]time.Time) map[string]time.Time {
	all := make(map[string]time.Time, len(cursors)+len(r.Adopted))
	maps.Copy(all, cursors)
	for key, at := range r.Adopted {
		all[key] = time.UnixMicro(at).UTC()
	}
	return all
}

// collect adds the jobs of a part of a repository, or leaves them to another account
// that leads it.
func (d *discovery) collect(r repository, part string) {
	share, wants := d.mayShare(&r, part)
	if !share {
		d.plan(r, part)
		return
	}
	d.shared = append(d.shared, sharedPart{r, part, wants})
}

// sharedPart is a part of a repository that another account may have, and what is wanted
// of it if that is not all.
type sharedPart struct {
	repository
	part  string
	wants []string
}

// plan adds the jobs of a part of a repository.
func (d *discovery) plan(r repository, part string) {
	if part == partCommits {
		d.commits(r)
		return
	}
	d.issuesAndPulls(r)
	d.addSweeps(r, BucketGraphQL)
	d.resources(r)
}

// Changes are copied of repositories up to these sizes: more is sooner asked for than
// looked through.
const (
	mostSharedCommits = 20_000
	mostSharedThreads = 5_000
)

// mayShare reports whether another account may have what is to be collected of a part:
// all of it, if nothing ever was, or what changed, and by which walks that is told.
func (d *discovery) mayShare(r *repository, name string) (share bool, wants []string) {
	if d.c.lead == nil || d.c.opt.NoGraphQL || name == partCommits && d.c.opt.OnlyOwnCommits || len(r.Adopted) > 0 {
		return false, nil
	}
	planned := d.probe(*r, name)
	wanted := d.wantedOf(planned, r)
	of := d.c.opt.partOf(name, r.resource())
	if !slices.ContainsFunc(of.cursors, func(key string) bool { return !d.c.Cursors[key].IsZero() }) {
		return len(wanted) > 0, nil
	}
	if r.commits > mostSharedCommits || name == partThreads && r.threads.issues+r.threads.pulls > mostSharedThreads {
		return false, nil
	}
	for i, typ := range of.types {
		if of.told[i] && slices.Contains(wanted, of.cursors[i]) && !d.c.Cursors[of.cursors[i]].IsZero() && d.tells(typ, r) {
			wants = append(wants, typ)
		}
	}
	return len(wants) > 0, wants
}

// tells reports whether discovery tells of all changes that a walk would bring.
func (d *discovery) tells(typ string, r *repository) bool {
	for _, one := range resources() {
		if one.told != nil && one.walks[0].declared().typ == typ {
			return r.lists[one.told.member].all
		}
	}
	return true
}

// probe plans a part of a repository without adding anything.
func (d *discovery) probe(r repository, name string) *discovery {
	probe := &discovery{s: d.s, c: d.c, fetched: d.fetched, tag: d.tag, again: d.again, owner: d.owner, adopted: d.adopted}
	probe.plan(r, name)
	return probe
}

// wantedOf are the cursors of what was planned.
func (d *discovery) wantedOf(planned *discovery, r *repository) (keys []string) {
	key := func(typ, bucket string) { keys = append(keys, d.c.opt.cursorKey(typ, bucket, r.resource())) }
	for i := range planned.res.Next {
		key(planned.res.Next[i].Type, planned.res.Next[i].Bucket)
	}
	if len(planned.small) > 0 {
		key(RepoPulls, BucketGraphQL)
	}
	for _, n := range planned.nestedOrder {
		key(n.typ, n.bucket)
	}
	return keys
}

// planBut adds the jobs of a part but for those of some types.
func (d *discovery) planBut(one *sharedPart) {
	before := len(d.res.Next)
	d.plan(one.repository, one.part)
	rest := slices.DeleteFunc(d.res.Next[before:], func(spec domain.JobSpec) bool { return slices.Contains(one.wants, spec.Type) })
	d.res.Next = d.res.Next[:before+len(rest)]
}

// share divides what another account may have into what the account collects itself
// and what it waits for. If nobody can tell, it collects.
func (d *discovery) share() {
	if len(d.shared) == 0 {
		return
	}
	resources := make([]string, len(d.shared))
	for i := range d.shared {
		resources[i] = d.shared[i].resource()
	}
	leaders, err := d.c.lead(resources, domain.Leader{})
	for i := range d.shared {
		one := &d.shared[i]
		if err != nil || i >= len(leaders) || leaders[i].Account == d.c.Run.AccountID {
			d.plan(one.repository, one.part)
			continue
		}
		if len(one.wants) > 0 {
			d.planBut(one)
		}
		ref := one.repoRef
		p := params{Repo: &ref, Tag: d.tag, At: d.c.p.At, Plain: d.c.p.Plain, Shared: one.remember(d.fetched)}
		d.res.Next = append(d.res.Next, p.spec(CopyRepo, ref.resource(), p.key(one.part), domain.LocalBucket))
	}
	d.shared = nil
}

// remember keeps what discovery told of a repository.
func (o *sharedPart) remember(fetched time.Time) *shared {
	r := &o.repository
	to := &shared{Part: o.part, Wants: o.wants, Fetched: fetched.UnixMicro(), Empty: r.empty, Pushed: seconds(r.pushed), Commits: r.commits,
		Issues: r.threads.issues, Pulls: r.threads.pulls, NewestIssue: seconds(r.threads.newestIssue), NewestPull: seconds(r.threads.newestPull)}
	for name, is := range r.lists {
		if to.Lists == nil {
			to.Lists = map[string]sharedTold{}
		}
		to.Lists[name] = sharedTold{is.total, seconds(is.newest), is.all}
	}
	return to
}

// repository is what remember kept.
func (o *shared) repository(ref repoRef) repository {
	r := repository{repoRef: ref, empty: o.Empty, pushed: unix(o.Pushed), commits: o.Commits, lists: map[string]told{},
		threads: threads{issues: o.Issues, pulls: o.Pulls, newestIssue: unix(o.NewestIssue), newestPull: unix(o.NewestPull)}}
	for name, is := range o.Lists {
		r.lists[name] = told{is.Total, unix(is.Newest), is.All}
	}
	return r
}

// part is what a part of a repository consists of: the types of its jobs, with the
// cursor of each, whether discovery tells when there is something for it, and the kind
// of what it brings; and all kinds.
type part struct {
	types, cursors []string
	told           []bool
	brings, kinds  []document.Kind
}

// partOf is a part as these options collect it.
func (o *Options) partOf(name, resource string) (p part) {
	add := func(typ, bucket string, kind document.Kind, told bool) {
		if typ == "" {
			return
		}
		p.types, p.cursors = append(p.types, typ), append(p.cursors, o.cursorKey(typ, bucket, resource))
		p.told, p.brings = append(p.told, told), append(p.brings, kind)
		if !slices.Contains(p.kinds, kind) {
			p.kinds = append(p.kinds, kind)
		}
	}
	if name == partCommits {
		add(CommitStats, BucketGraphQL, KindCommit, true)
		return p
	}
	add(RepoIssues, BucketCore, KindIssue, true)
	add(SweepIssues, BucketCore, KindIssue, false)
	add(RepoPulls, BucketGraphQL, KindPull, true)
	add(SweepPulls, BucketGraphQL, KindPull, false)
	for _, one := range resources() {
		if !slices.Contains(o.Resources, one.name()) {
			continue
		}
		for _, w := range one.walks {
			r := w.declared()
			add(r.typ, r.bucket, r.kind, one.told != nil || one.about != nil)
			add(r.sweep, r.bucket, r.kind, false)
		}
	}
	return p
}
