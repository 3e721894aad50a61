package github

import (
	"cmp"
	"encoding/json"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// mostTold is how much of an event is kept with a job.
const mostTold = 256 << 10

// hookEvent is what an event tells as a whole, in the form in which REST has it.
type hookEvent struct {
	Issue         json.RawMessage `json:"issue,omitempty"`
	Comment       json.RawMessage `json:"comment,omitempty"`
	ReviewComment json.RawMessage `json:"review_comment,omitempty"`
	// Part is something else, and Of says what, see toldElements.
	Part json.RawMessage `json:"part,omitempty"`
	Of   string          `json:"of,omitempty"`
}

func (t *hookEvent) size() int {
	return len(t.Issue) + len(t.Comment) + len(t.ReviewComment) + len(t.Part)
}
func (t *hookEvent) empty() bool { return t.size() == 0 }

// early is the meaning of a job of an event that comes before what it is about was
// collected: while an account is collected for the first time there is nothing to
// bring up to date, and a repository that is not known yet, or was found gone, is
// collected as a whole. None of it makes a call.
func (c *call) early() (source.Result, bool) {
	if !c.p.Heard || c.p.page() > 1 {
		return source.Result{}, false
	}
	nothing := source.Result{Verdict: source.Done, Free: true}
	if !c.collected() {
		return nothing, true
	}
	if c.p.Repo == nil || c.Job.Type == DiscoverRepo || c.Job.Type == CheckRepo || c.listedBefore() {
		return source.Result{}, false
	}
	p := params{Repo: c.p.Repo, Tag: c.p.Tag}
	spec := p.spec(DiscoverRepo, p.Repo.resource(), p.key(""), BucketGraphQL)
	if c.opt.NoGraphQL {
		spec = p.spec(CheckRepo, userResource(c.Run.Login), p.key(p.Repo.resource()), BucketCore)
	}
	nothing.Next = []domain.JobSpec{spec}
	return nothing, true
}

// collected reports whether a run of the account has walked over its repositories.
func (c *call) collected() bool {
	user := userResource(c.Run.Login)
	for _, typ := range [...]string{DiscoverReposPushed, DiscoverReposUpdated, DiscoverTarget} {
		for _, bucket := range [...]string{BucketGraphQL, BucketCore} {
			if !c.Cursors[c.opt.cursorKey(typ, bucket, user)].IsZero() {
				return true
			}
		}
	}
	return false
}

// listedBefore reports whether the job's repository is known to be there.
func (c *call) listedBefore() bool {
	resource := c.p.Repo.resource()
	if c.foundGone(resource) {
		return false
	}
	for _, listing := range [...]string{listedOwn, listedShared, listedContributed, listedPublic} {
		if !c.Cursors[listedKey(resource, listing)].IsZero() {
			return true
		}
	}
	return false
}

// storeEvent stores what an event told. It makes no call. That the thing was there
// is known of the instant at which it changed last: what was found gone later stays
// gone.
func (c *call) storeEvent(s *Source) source.Result {
	res := source.Result{Verdict: source.Done, Free: true}
	if c.p.Event == nil {
		return malformedEvent("it tells nothing")
	}
	for _, part := range []struct {
		raw  []byte
		read func(c *call, body []byte, i int) (document.Document, int, string)
	}{
		{c.p.Event.Issue, toldIssue}, {c.p.Event.Comment, commentElement.read}, {c.p.Event.ReviewComment, reviewCommentElement.read},
		{c.p.Event.Part, c.p.Event.part},
	} {
		if len(part.raw) == 0 {
			continue
		}
		doc, end, wrong := part.read(c, part.raw, 0)
		if wrong != "" {
			return malformedEvent(wrong)
		}
		doc.Raw, doc.SeenAt = part.raw[:end:end], cmp.Or(doc.UpdatedAt, doc.Version)
		s.fit(&doc)
		res.Documents = append(res.Documents, doc)
	}
	res.Items, res.Pages = len(res.Documents), 1
	return res
}

func toldIssue(c *call, body []byte, i int) (document.Document, int, string) {
	doc, pull, end, wrong := c.issue(body, i)
	if wrong == "" && (pull != "" || doc.UpdatedAt.IsZero()) {
		wrong = "an issue is a pull request or has no time"
	}
	return doc, end, wrong
}

// malformedEvent is an event that cannot be read: to try again is pointless, and the
// next run brings what it told.
func malformedEvent(why string) source.Result {
	return source.Result{Verdict: source.Fail, Free: true, Failure: failure(domain.FailureMalformed, "an event cannot be read: %s", why)}
}
