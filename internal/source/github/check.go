package github

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// A 404 may be a deleted repository, a lost permission or a moment's failure,
// and a listing may leave something out. Before a repository is said to be gone
// it is therefore looked at by its id, once in a run, by a job of its own. Until
// then nothing is flagged and no cursor moves.

// againTag marks the walks of a repository that begin anew because an earlier
// job of the run did not find it.
const againTag = "again"

const blockedReason = document.GoneBlocked

func blockedWords(said string) bool { return strings.Contains(strings.ToLower(said), "access blocked") }

// check is the look at a repository. It belongs to the account rather than to
// the repository, whose waiting jobs are dropped.
func (c *call) check(ref repoRef, unlisted bool) domain.JobSpec {
	p := params{Repo: &ref, Unlisted: unlisted}
	return p.spec(CheckRepo, userResource(c.Run.Login), ref.resource(), BucketCore)
}

// lookAgain is the meaning of a 404 for a repository: it is looked at by its
// id, and its waiting jobs are dropped, as the look decides what becomes of
// them.
func (c *call) lookAgain() source.Result {
	switch again := strings.HasPrefix(c.p.Tag, againTag); {
	case again && c.Job.Type == CommitDetail:
		// The commit was pushed away since it was listed.
		return source.Result{Verdict: source.Done}
	case again:
		return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureNotFound,
			"GitHub has the repository %s but answers 404 to %s", c.p.Repo.Name, c.Job.Type)}
	}
	ref := *c.p.Repo
	return source.Result{Verdict: source.Done, Next: []domain.JobSpec{c.check(ref, false)}, Drop: ref.resource()}
}

// confirmed flags a repository as gone, with everything in it, and drops its
// waiting jobs. The job is done rather than failed: that a repository went away
// is a finding, not a fault.
func confirmed(c *call, at time.Time, why document.Reason) source.Result {
	ref := c.p.Repo
	return source.Result{
		Verdict:  source.Done,
		Absences: []document.Absence{{Account: c.Run.AccountID, Repository: ref.ID, Why: why, Since: at}},
		Drop:     ref.resource(),
		Cursors:  []domain.Cursor{c.goneMark(ref.ID, at)},
	}
}

// notFoundByID is the meaning of a look at a repository that did not find it. What is
// not at another address, to which the look was sent, may be there.
func (c *call) notFoundByID(a *answer, why document.Reason) source.Result {
	if c.p.Moved {
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "GitHub sends on to an address at which it answers %d", a.status)}
	}
	return confirmed(c, c.opt.serverTime(a), why)
}

func checkRequest(_ *Source, c *call) request {
	if c.p.URL != "" {
		return request{target: c.p.URL}
	}
	return request{target: c.p.Repo.path()}
}

// readCheck reads a repository that is there after all. One that the account
// owns is collected: what was to be asked of it, or what changed since.
func readCheck(s *Source, c *call, a *answer) source.Result {
	r, _ := readRESTRepository(a.body, 0)
	if r.raw == nil || r.ID != c.p.Repo.ID || r.Name == "" {
		return malformed("a repository has no name or another id than was asked for")
	}
	own, now := c.owns(r.Name), s.serverTime(a)
	switch {
	case !own && !c.p.Repo.External:
		return confirmed(c, now, document.GoneTransferred)
	case c.p.Unlisted && !own:
		// It was never the account's, and is listed no longer.
		return source.Result{Verdict: source.Done, Items: 1, Cursors: []domain.Cursor{c.goneMark(r.ID, now)}}
	}
	r.External = !own
	d := s.discovery(c, a)
	d.tag, d.again = againTag, true
	d.res.Items = 1
	if !c.takes(&r) {
		return d.res
	}
	d.listed(r)
	if s.opt.NoGraphQL || r.Node == "" {
		d.res.Documents = append(d.res.Documents, d.document(r))
		d.listings(r)
		d.resources(r)
		return d.res
	}
	ref := r.repoRef
	d.res.Next = append(d.res.Next, params{Repo: &ref, Tag: againTag}.spec(DiscoverRepo, ref.resource(), againTag, BucketGraphQL))
	return d.res
}

// Which repositories should be listed is remembered as cursors: one for each
// that a listing had, and one for each that was found gone. The later counts.

// The listings that are told apart: a repository that only one of them had is
// not missed by another.
const (
	listedOwn         = ""
	listedShared      = " shared"
	listedContributed = " contributed"
	listedPublic      = " public"
)

func listedKey(resource, listing string) string {
	return CursorKey(DiscoverRepo, resource) + listing
}

func (c *call) goneMark(id int64, at time.Time) domain.Cursor {
	ref := repoRef{ID: id}
	return domain.Cursor{AccountID: c.Run.AccountID, Resource: CursorKey(CheckRepo, ref.resource()), At: at}
}

// foundGone reports whether the last that is known of a repository is that it
// is gone.
func (c *call) foundGone(resource string) bool {
	gone := c.Cursors[CursorKey(CheckRepo, resource)]
	if gone.IsZero() {
		return false
	}
	for _, listing := range [...]string{listedOwn, listedShared, listedContributed, listedPublic} {
		if c.Cursors[listedKey(resource, listing)].After(gone) {
			return false
		}
	}
	return true
}

// listed remembers that a listing has a repository, unless it is known.
func (d *discovery) listed(r repository) {
	key := listedKey(r.resource(), d.listing(r.External))
	if d.c.Cursors[key].IsZero() || d.c.foundGone(r.resource()) {
		d.res.Cursors = append(d.res.Cursors, domain.Cursor{AccountID: d.c.Run.AccountID, Resource: key, At: d.asked})
	}
}

func (d *discovery) listing(external bool) string {
	switch {
	case d.c.Job.Type == DiscoverContributed:
		return listedContributed
	case external:
		return listedShared
	case d.c.Job.Bucket == BucketCore && d.c.Job.Type != CheckRepo:
		return listedPublic
	}
	return listedOwn
}

// unmet lists the repositories that the walk should meet: those that the same
// listing had before, and those of which nothing is remembered but that they
// were collected.
func (c *call) unmet() []int64 {
	listings := []string{listedOwn, listedPublic}
	switch {
	case c.Job.Bucket == BucketCore:
		listings = []string{listedPublic}
	case c.opt.Collaborator:
		listings = append(listings, listedShared)
	}
	var ids []int64
	for key := range c.Cursors {
		// Whether its walks ever came to their end says nothing about whether it
		// is there.
		typ, resource, _ := strings.Cut(key, " ")
		resource, _, _ = strings.Cut(resource, " ")
		if typ != DiscoverRepo && typ != RepoPulls || c.foundGone(resource) || !c.mayMiss(resource, listings) {
			continue
		}
		number, _ := strings.CutPrefix(resource, "repo:")
		if id, err := strconv.ParseInt(number, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// mayMiss reports whether the absence of a repository from the given listings
// means anything.
func (c *call) mayMiss(resource string, listings []string) bool {
	known := false
	for _, listing := range [...]string{listedOwn, listedShared, listedContributed, listedPublic} {
		if c.Cursors[listedKey(resource, listing)].IsZero() {
			continue
		}
		if known = true; slices.Contains(listings, listing) {
			return true
		}
	}
	return !known
}

// met takes a repository off the list of those that are still to be met.
func (d *discovery) met(id int64) {
	if i, ok := slices.BinarySearch(d.c.p.Unmet, id); ok {
		d.c.p.Unmet = slices.Delete(slices.Clone(d.c.p.Unmet), i, i+1)
	}
}

// lookForUnmet adds, at the end of a walk over all repositories, a look at each
// that it did not meet. Whether one that nothing is remembered of was the
// account's own is not known: it is then not said to be transferred.
func (c *call) lookForUnmet(res *source.Result) {
	for _, id := range c.p.Unmet {
		ref := repoRef{ID: id}
		resource := ref.resource()
		ref.External = c.Cursors[listedKey(resource, listedOwn)].IsZero() && c.Cursors[listedKey(resource, listedPublic)].IsZero()
		res.Next = append(res.Next, c.check(ref, true))
	}
}
