package github

import (
	"context"
	"slices"
	"strings"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// copying is a job that copies a part of a repository from the account that leads it.
type copying struct {
	s      *Source
	c      *call
	r      repository
	part   part
	leader domain.Leader
}

// copyRepository copies as much of a repository as one job stores, waits for who
// collects it, or leaves it to the account itself when there is nobody to copy from.
func copyRepository(ctx context.Context, s *Source, c *call) source.Result {
	if c.p.Shared == nil {
		return source.Result{Verdict: source.Fail, Free: true, Failure: failure(domain.FailureInvalid, "the job does not say what of the repository is to be copied")}
	}
	cp := &copying{s: s, c: c, r: c.p.Shared.repository(*c.p.Repo), part: c.opt.partOf(c.p.Shared.Part, c.Job.Resource)}
	cp.r.Adopted = nil
	if c.lead == nil {
		return cp.alone()
	}
	leaders, err := c.lead([]string{c.Job.Resource}, domain.Leader{})
	if err != nil {
		return unreadable(err)
	}
	cp.leader = leaders[0]
	if cp.leader.Account == c.Run.AccountID {
		return cp.alone()
	}
	if c.p.Shared.From != cp.leader.Account {
		if res, ok := cp.begin(ctx); !ok {
			return res
		}
	}
	return cp.goOn(ctx)
}

// unreadable is what becomes of a job when stores do not tell what others have.
func unreadable(err error) source.Result {
	if domain.CodeOf(err) == domain.CodeUnavailable {
		return source.Result{Verdict: source.Wait, Free: true, RetryAfter: copyDelay, WaitsFor: err.Error()}
	}
	return source.Result{Verdict: source.Retry, Free: true, Failure: failure(domain.FailureServer, "what another account has cannot be read: %s", err)}
}

// wait puts the job off.
func (cp *copying) wait() source.Result {
	delay := copyDelay << min(max(cp.c.Job.Attempt-1, 0), 5)
	return source.Result{Verdict: source.Wait, Free: true, RetryAfter: min(delay, mostCopyWait),
		WaitsFor: cp.leader.Login + " collects " + cp.r.Name}
}

// alone adds the jobs with which the account collects the part itself.
func (cp *copying) alone() source.Result {
	cp.c.p.Repo.Adopted = nil
	return cp.planned()
}

// planned adds the jobs of the part that are to be done.
func (cp *copying) planned() source.Result {
	told := cp.c.p.Shared
	cp.c.Job.Bucket = BucketGraphQL
	d := cp.discovery(cp.c)
	d.res = source.Result{Verdict: source.Done, Free: true}
	d.plan(cp.r, told.Part)
	if len(told.Wants) > 0 {
		d.small, d.nested, d.nestedOrder = nil, nil, nil
		d.res.Next = slices.DeleteFunc(d.res.Next, func(spec domain.JobSpec) bool { return !slices.Contains(told.Wants, spec.Type) })
	}
	d.addPacks()
	return d.res
}

// discovery is the page of repositories that told of this one.
func (cp *copying) discovery(c *call) *discovery {
	return &discovery{s: cp.s, c: c, adopted: len(c.p.Repo.Adopted) > 0, fetched: time.UnixMicro(c.p.Shared.Fetched).UTC(), tag: c.p.Tag, again: strings.HasPrefix(c.p.Tag, againTag)}
}

// begin looks what the leader has, or returns what becomes of the job without that.
func (cp *copying) begin(ctx context.Context) (source.Result, bool) {
	cursors, err := cp.c.Shared.Cursors(ctx, cp.leader.Account, cp.part.cursors)
	if err != nil {
		return unreadable(err), false
	}
	pages, err := cp.c.Shared.Pages(ctx, cp.leader.Account, cp.c.Job.Resource)
	if err != nil {
		return unreadable(err), false
	}
	home, known, err := cp.home(ctx)
	if err != nil {
		return unreadable(err), false
	}
	told := *cp.c.p.Shared
	lacks, useless := cp.lacks(cursors)
	switch {
	case !known || home.Deleted:
		return cp.takeOver(), false
	case lacks && cp.leader.Busy && !cp.finished(cursors):
		return cp.wait(), false
	case useless:
		return cp.takeOver(), false
	}
	cp.c.p.Repo.Adopted = cp.adoptable(cursors)
	told.From, told.Kind, told.After = cp.leader.Account, cp.part.kinds[0], ""
	told.Pages = slices.DeleteFunc(pages, func(p domain.Page) bool {
		typ, _, _ := strings.Cut(p.Key, " ")
		at := slices.Index(cp.part.types, typ)
		return at < 0 || len(told.Wants) > 0 && !cp.part.told[at]
	})
	if len(told.Pages) > mostSharedPages {
		told.Pages = nil
	}
	cp.c.p.Shared = &told
	return source.Result{}, true
}

// lacks reports whether the leader lacks something of what is wanted, and whether what
// it has is of no use then.
func (cp *copying) lacks(cursors map[string]time.Time) (lacks, useless bool) {
	told, c := cp.c.p.Shared, cp.graph()
	if len(told.Wants) == 0 {
		d := cp.discovery(c)
		wanted := d.wantedOf(d.probe(cp.r, told.Part), &cp.r)
		missing := slices.DeleteFunc(slices.Clone(wanted), func(key string) bool { return !cursors[key].IsZero() })
		return len(missing) > 0, len(missing) == len(wanted)
	}
	// What it has is enough if nothing is left to be asked for then.
	ref := repoRef{Adopted: cp.adoptable(cursors)}
	c.Cursors = ref.adopted(c.Cursors)
	d := cp.discovery(c)
	d.adopted = true
	lacks = slices.ContainsFunc(d.probe(cp.r, told.Part).res.Next, func(spec domain.JobSpec) bool { return slices.Contains(told.Wants, spec.Type) })
	return lacks, lacks
}

// finished reports whether the leader has what its run brings of all that is wanted.
func (cp *copying) finished(cursors map[string]time.Time) bool {
	anchor := cp.leader.Anchor.Truncate(time.Second)
	for i, typ := range cp.part.types {
		if slices.Contains(cp.c.p.Shared.Wants, typ) && cursors[cp.part.cursors[i]].Before(anchor) {
			return false
		}
	}
	return len(cp.c.p.Shared.Wants) > 0 && !anchor.IsZero()
}

// adoptable are the cursors of the leader that the account can go on from: all, or of
// what discovery tells of those that are ahead.
func (cp *copying) adoptable(cursors map[string]time.Time) map[string]int64 {
	all := make(map[string]int64, len(cursors))
	for i, key := range cp.part.cursors {
		at, own := cursors[key], cp.c.Cursors[key]
		if at.IsZero() || len(cp.c.p.Shared.Wants) > 0 && (!cp.part.told[i] || own.IsZero() || !at.After(own)) {
			continue
		}
		all[key] = at.UnixMicro()
	}
	return all
}

// graph is the call as one that plans walks.
func (cp *copying) graph() *call {
	c := *cp.c
	c.Job.Bucket = BucketGraphQL
	return &c
}

// home is the leader's document of the repository.
func (cp *copying) home(ctx context.Context) (document.Document, bool, error) {
	return cp.c.Shared.Document(ctx, document.Key{Account: cp.leader.Account, Kind: KindRepository, Name: formatID(cp.r.ID)})
}

// takeOver has the account collect what the leader does not have, unless somebody else
// does so by now.
func (cp *copying) takeOver() source.Result {
	leaders, err := cp.c.lead([]string{cp.c.Job.Resource}, cp.leader)
	if err != nil {
		return unreadable(err)
	}
	if cp.leader = leaders[0]; cp.leader.Account != cp.c.Run.AccountID {
		return cp.wait()
	}
	return cp.alone()
}

// goOn copies the next documents.
func (cp *copying) goOn(ctx context.Context) source.Result {
	told := *cp.c.p.Shared
	before, known, err := cp.home(ctx)
	if err != nil {
		return unreadable(err)
	}
	docs, gone, end, err := cp.read(ctx, &told)
	if err != nil {
		return unreadable(err)
	}
	if len(told.Wants) > 0 && gone {
		return cp.takeOver()
	}
	after, still, err := cp.home(ctx)
	if err != nil {
		return unreadable(err)
	}
	leaders, err := cp.c.lead([]string{cp.c.Job.Resource}, domain.Leader{})
	switch {
	case err != nil:
		return unreadable(err)
	case leaders[0].Account != cp.leader.Account:
		// It may have been purged meanwhile: nothing of this is certain.
		return cp.wait()
	case !known || !still || before.Deleted || after.Deleted:
		return cp.takeOver()
	case gone && !before.SeenAt.Equal(after.SeenAt):
		// The repository may have been gone for a moment, with all that is in it.
		return cp.wait()
	}
	return cp.stored(docs, &told, end)
}

// read reads the next documents of the leader; gone says that some are flagged as gone,
// and end that these were the last.
func (cp *copying) read(ctx context.Context, told *shared) (docs []document.Document, gone, end bool, err error) {
	if len(told.Wants) > 0 {
		docs, gone, err = cp.changes(ctx)
		return docs, gone, true, err
	}
	for at := slices.Index(cp.part.kinds, told.Kind); at >= 0 && at < len(cp.part.kinds); at++ {
		kind := cp.part.kinds[at]
		q := document.Query{Account: cp.leader.Account, Kind: kind, Repository: cp.r.ID}
		if kind == told.Kind && told.After != "" {
			q.After = document.Key{Account: q.Account, Kind: kind, Name: told.After}
		}
		some, more, err := cp.c.Shared.Documents(ctx, q)
		if err != nil {
			return nil, false, false, err
		}
		for i := range some {
			told.Kind, told.After = kind, some[i].Name
			if gone = gone || some[i].Deleted; !some[i].Deleted {
				docs = append(docs, cp.own(some[i]))
			}
		}
		if more || len(docs) >= enoughCopied && at+1 < len(cp.part.kinds) {
			if !more {
				told.Kind, told.After = cp.part.kinds[at+1], ""
			}
			return docs, gone, false, nil
		}
	}
	return docs, gone, true, nil
}

// sightingMargin is how much earlier than a cursor a sighting of what changed after it
// may be dated: clocks differ.
const sightingMargin = 2 * dateTolerance

// changes reads what the leader has seen since the account's own cursors. That is not
// all that changed if something was found gone, or there is too much of it.
func (cp *copying) changes(ctx context.Context) (docs []document.Document, gone bool, err error) {
	since := map[document.Kind]time.Time{}
	for i, key := range cp.part.cursors {
		if _, adopted := cp.c.p.Repo.Adopted[key]; !adopted {
			continue
		}
		kind, own := cp.part.brings[i], cp.c.Cursors[key].Add(-sightingMargin)
		if at, known := since[kind]; !known || own.Before(at) {
			since[kind] = own
		}
	}
	for _, kind := range cp.part.kinds {
		from, wanted := since[kind]
		if !wanted {
			continue
		}
		some, known, err := cp.c.Shared.Changed(ctx, document.Query{Account: cp.leader.Account, Kind: kind, Repository: cp.r.ID}, from)
		if err != nil || !known {
			return nil, true, err
		}
		for i := range some {
			docs = append(docs, cp.own(some[i]))
		}
	}
	return docs, false, nil
}

// enoughCopied is how many documents are copied before the next kind is left to the
// next job.
const enoughCopied = 250

// own is a document of the leader as the account has it: seen when it was seen.
func (cp *copying) own(doc document.Document) document.Document {
	doc.Account, doc.External = cp.c.Run.AccountID, cp.r.External
	doc.Deleted, doc.GoneSince, doc.GoneWhy = false, time.Time{}, ""
	return doc
}

// stored is what a job has copied, and what comes after it: the next documents, or what
// changed since the leader collected them.
func (cp *copying) stored(docs []document.Document, told *shared, end bool) source.Result {
	res := source.Result{Verdict: source.Done, Free: true}
	if end {
		ref := *cp.c.p.Repo
		cp.r.repoRef, cp.c.Cursors = ref, ref.adopted(cp.c.Cursors)
		res = cp.planned()
		res.Next = slices.DeleteFunc(res.Next, func(next domain.JobSpec) bool { return cp.upToDate(&next) })
		for key, at := range ref.Adopted {
			res.Cursors = append(res.Cursors, domain.Cursor{AccountID: cp.c.Run.AccountID, Resource: key, At: time.UnixMicro(at).UTC()})
		}
		for _, p := range told.Pages {
			p.AccountID = cp.c.Run.AccountID
			res.Stored = append(res.Stored, p)
		}
	} else {
		p := cp.c.p
		p.Shared = told
		res.Next = []domain.JobSpec{cp.c.successor(p, p.key(told.Part+":"+formatID(int64(p.page()+1))))}
	}
	res.Documents, res.Items = docs, len(docs)
	return res
}

// upToDate reports whether a walk would ask for what was copied: the leader has
// collected it up to the instant up to which this run collects.
func (cp *copying) upToDate(next *domain.JobSpec) bool {
	at := cp.c.p.Repo.Adopted[cp.c.opt.cursorKey(next.Type, next.Bucket, next.Resource)]
	return at >= cp.c.Run.Anchor.Truncate(time.Second).UnixMicro()
}
