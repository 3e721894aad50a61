package github

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// fullWalk is the page key of a walk that begins again because a walk for
// changes could not prove that nothing else changed.
const fullWalk = "full"

// proof says which history a finished walk has seen: its newest commit and how
// many there were, up to the instant the cursor stands for. It is kept as the
// remembered page of the walk.
//
// A commit pushed today may be dated last year, and a forced push may replace
// what was collected; a walk bounded by dates would miss both. The next walk
// therefore also asks for the newest commit and the number of commits up to its
// cursor. If both are as before, the old part is the same, since a commit
// stands for all its ancestors. If not, the whole history is walked again.
type proof struct {
	head  string
	total int
}

// readProof reads what a history's newest commit and length are. Both must be
// told: a history that seems to have no commits has a length of zero.
func readProof(history gjson.Result) (p proof, ok bool) {
	total := history.Get("totalCount")
	p = proof{head: text(history.Get("nodes.0.oid")), total: int(total.Int())}
	return p, total.Type == gjson.Number && (p.head != "") == (p.total > 0)
}

func (c *call) rememberProof(res *source.Result, p proof) {
	res.Stored = append(res.Stored, domain.Page{
		AccountID: c.Run.AccountID, Key: c.opt.proofKey(c.Job.Resource), ETag: p.head, Items: p.total,
	})
}

// onlyChanges reports whether the walk asks for new commits alone: there is a
// cursor, and a proof to hold the old part against.
func (c *call) onlyChanges() bool {
	if c.p.page() > 1 {
		return c.p.Since != 0
	}
	return !c.p.Full && !c.Since.IsZero() && c.Stored != nil && c.Stored.ETag != ""
}

func historyRequest(s *Source, c *call) request {
	query := s.queries.history
	variables := map[string]any{
		"id": c.p.Repo.Node, "after": cursorOrNull(c.p.After), "first": c.size(), "until": c.anchor().UTC().Format(time.RFC3339),
	}
	if s.opt.OnlyOwnCommits {
		variables["author"] = c.p.Owner
	}
	if c.onlyChanges() {
		query = s.queries.historyChanges
		variables["since"] = c.walkSince().UTC().Format(time.RFC3339)
	}
	return graphqlRequest(query, variables)
}

// historyByREST walks a history that GraphQL cannot give at all, not even one
// commit at a time.
func historyByREST(s *Source, c *call) source.Result {
	p := params{Repo: c.p.Repo, Tag: c.p.Tag}
	walk := func(typ string) domain.JobSpec { return p.spec(typ, c.Job.Resource, p.key(""), BucketCore) }
	res := source.Result{Verdict: source.Done, Next: []domain.JobSpec{walk(RepoCommits)}}
	cursor := func(typ string) time.Time { return c.Cursors[s.opt.cursorKey(typ, BucketCore, c.Job.Resource)] }
	if !cursor(RepoCommits).IsZero() && s.opt.SweepEvery >= 0 && c.anchor().Sub(cursor(SweepCommits)) >= s.opt.SweepEvery {
		res.Next = append(res.Next, walk(SweepCommits))
	}
	return res
}

func readHistory(s *Source, c *call, a *answer, root gjson.Result, unknown holes) source.Result {
	branch := root.Get("defaultBranchRef")
	unknown = unknown.at("defaultBranchRef", "target")
	if branch.Exists() && branch.Type == gjson.Null && len(unknown) == 0 {
		return source.Result{Verdict: source.Done, Pages: 1, Cursors: []domain.Cursor{c.cursor(CommitStats)}}
	}
	target := branch.Get("target")
	listed := unknown.at("history")
	k, ok := readConnection(target.Get("history"), listed)
	if !ok {
		return incomplete(c, a, "a history", unknown)
	}
	res := pageOf(a)
	at := -1
	n, wrong := eachNode(a.body, k.nodes, func(i int) (int, string) {
		at++
		doc, end, wrong := c.historyCommit(a.body, i, len(listed.at("nodes", strconv.Itoa(at))) == 0)
		if wrong == "" && !doc.Measured {
			res.Next = append(res.Next, c.detail(commitSHA(doc)))
		}
		s.fit(&doc)
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return incomplete(c, a, wrong, unknown)
	}
	res.Items = n
	if !c.onlyChanges() {
		c.finishHistory(&res, k)
		return res
	}
	past, knowsPast := readProof(target.Get("past"))
	whole, knowsWhole := readProof(target.Get("whole"))
	if c.p.page() == 1 && (!knowsPast || !knowsWhole || len(unknown.at("past"))+len(unknown.at("whole")) > 0) {
		return incomplete(c, a, "what a history's old part is compared by", unknown)
	}
	c.finishChanges(&res, k, past, whole)
	return res
}

// finishHistory goes on with a walk of everything.
func (c *call) finishHistory(res *source.Result, k connection) {
	if c.p.page() == 1 {
		c.p.Total = k.total
		c.p.Head = text(k.nodes.Get("0.oid"))
	}
	if !c.walkOn(res, k, true) {
		c.rememberProof(res, proof{c.p.Head, c.p.Total})
		res.Cursors = append(res.Cursors, c.cursor(CommitStats))
		c.rewritten(res)
	}
}

// rewritten says, at the end of a walk over a whole history, which commits are
// no part of it any more. A walk over some of it proves nothing: over one
// author's commits, or up to an instant before the last walk's.
func (c *call) rewritten(res *source.Result) {
	stored := c.Since
	for typ, bucket := range map[string]string{CommitStats: BucketGraphQL, RepoCommits: BucketCore} {
		stored = latest(stored, c.Cursors[c.opt.cursorKey(typ, bucket, c.Job.Resource)])
	}
	if !c.metAll() || c.opt.OnlyOwnCommits || len(c.Cursors) == 0 || c.anchor().Before(stored) {
		return
	}
	res.Absences = append(res.Absences, c.notSeen(KindCommit, document.GoneRewritten))
}

// finishChanges goes on with a walk for changes, or begins a walk of everything
// if the old part is not what it was.
func (c *call) finishChanges(res *source.Result, k connection, past, whole proof) {
	if c.p.page() == 1 {
		known := proof{c.Stored.ETag, c.Stored.Items}
		if past != known {
			p := params{Repo: c.p.Repo, Owner: c.p.Owner, At: c.p.At, Tag: c.p.Tag, Full: true}
			res.Next = append(res.Next, p.spec(CommitStats, c.Job.Resource, p.key(""), c.Job.Bucket))
			return
		}
		c.p.Since, c.p.Head, c.p.Total = seconds(c.Since), whole.head, whole.total
	}
	if !c.walkOn(res, k, true) {
		c.rememberProof(res, proof{c.p.Head, c.p.Total})
		res.Cursors = append(res.Cursors, c.cursor(CommitStats))
	}
}

// historyCommit reads a commit of a history. One that is not known as a whole
// counts as not measured, so that the copy that is asked for replaces it.
func (c *call) historyCommit(body []byte, i int, whole bool) (doc document.Document, end int, wrong string) {
	sha := ""
	measures := 0
	end = members(body, i, func(name string, v gjson.Result) {
		ownCommit(&doc.Fields, name, v)
		switch name {
		case "oid":
			sha = text(v)
		case "messageHeadline":
			doc.Title = text(v)
		case "committedDate":
			doc.CreatedAt = when(v)
		case "additions":
			doc.Additions, measures = v.Int(), measures+number(v)
		case "deletions":
			doc.Deletions, measures = v.Int(), measures+number(v)
		case "author":
			doc.Author = login(v.Get("user"))
		}
	})
	if end >= 0 {
		doc.Raw = body[i:end:end]
	}
	doc.Measured = measures == 2 && whole
	doc, wrong = c.commit(doc, sha)
	return doc, end, wrong
}

func number(v gjson.Result) int {
	if v.Type == gjson.Number {
		return 1
	}
	return 0
}

// commit completes a commit's document. A commit never changes, so its version
// is its commit time; a measured copy counts as a second newer, so that it wins
// over an unmeasured one in whatever order they come.
func (c *call) commit(doc document.Document, sha string) (document.Document, string) {
	if doc.Raw == nil || sha == "" || doc.CreatedAt.IsZero() {
		return doc, "a commit is cut off or has no id or no time"
	}
	c.inherit(&doc.Fields)
	doc.Key = c.key(KindCommit, formatID(c.p.Repo.ID)+":"+sha)
	doc.Version = doc.CreatedAt
	if doc.Measured {
		doc.Version = doc.Version.Add(time.Second)
	}
	return doc, ""
}

func commitSHA(doc document.Document) string { return doc.Name[len(formatID(doc.Repository))+1:] }

// commitsRequest lists commits in REST, bounded by the run's anchor, so that a
// push cannot shift the pages. A sweep asks for the newest commit first, and then for
// that and all its ancestors: no push of any kind changes these.
func commitsRequest(s *Source, c *call) request {
	switch {
	case c.p.URL != "":
		return request{target: c.resize(c.p.URL)}
	case c.findsHead():
		return request{target: c.p.Repo.path() + "/commits?per_page=1"}
	}
	q := url.Values{"per_page": {strconv.Itoa(pageSize)}, "until": {c.Run.Anchor.UTC().Format(time.RFC3339)}}
	if since := s.from(c.Since); c.sweeps() {
		q.Set("sha", c.p.Head)
	} else if !since.IsZero() {
		q.Set("since", since.Format(time.RFC3339))
	}
	if s.opt.OnlyOwnCommits {
		q.Set("author", c.Run.Login)
	}
	return request{target: c.resize(c.p.Repo.path() + "/commits?" + q.Encode())}
}

// findsHead reports whether a sweep has yet to find out what it sweeps.
func (c *call) findsHead() bool { return c.Job.Type == SweepCommits && c.p.Head == "" }

// readHead begins the sweep of what the newest commit of a branch stands for.
func readHead(c *call, a *answer) source.Result {
	head := ""
	n, wrong := eachOf(a.body, func(i int) (int, string) {
		doc, end, wrong := c.restCommit(a.body, i)
		if wrong == "" && head == "" {
			head = commitSHA(doc)
		}
		return end, wrong
	})
	switch {
	case wrong != "":
		return malformed(wrong)
	case n == 0:
		return source.Result{Verdict: source.Done, Pages: 1, Cursors: []domain.Cursor{c.cursor(SweepCommits)}}
	}
	p := c.p
	p.URL, p.Moved, p.Head = "", false, head
	return source.Result{Verdict: source.Done, Next: []domain.JobSpec{p.spec(SweepCommits, c.Job.Resource, p.key("from:"+head), BucketCore)}}
}

// readCommits reads a page of commits, of which each is then asked for by itself: only
// that has statistics. A sweep asks for those alone that are not stored with theirs.
func readCommits(s *Source, c *call, a *answer) source.Result {
	if c.findsHead() {
		return readHead(c, a)
	}
	res := pageOf(a)
	n, wrong := eachOf(a.body, func(i int) (int, string) {
		doc, end, wrong := c.restCommit(a.body, i)
		if wrong == "" && (!c.sweeps() || c.measured == nil || !c.measured(doc.Key)) {
			res.Next = append(res.Next, c.detail(commitSHA(doc)))
		}
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return malformed(wrong)
	}
	res.Items = n
	c.goOn(&res, s.linksOf(c, a), span{})
	return res
}

// detail is the job for one commit, named by its sha.
func (c *call) detail(sha string) domain.JobSpec {
	p := params{Repo: c.p.Repo, Tag: c.p.Tag}
	return p.spec(CommitDetail, c.Job.Resource, p.key(sha), BucketCore)
}

func commitRequest(_ *Source, c *call) request {
	if c.p.URL != "" {
		return request{target: c.p.URL}
	}
	sha := c.Job.PageKey[strings.LastIndexByte(c.Job.PageKey, ':')+1:]
	return request{target: c.p.Repo.path() + "/commits/" + url.PathEscape(sha)}
}

func readCommit(s *Source, c *call, a *answer) source.Result {
	doc, _, wrong := c.restCommit(a.body, 0)
	if wrong != "" {
		return malformed(wrong)
	}
	s.fit(&doc)
	return source.Result{Verdict: source.Done, Documents: []document.Document{doc}, Items: 1}
}

// restCommit reads a commit as REST shows it; only the detail has statistics.
func (c *call) restCommit(body []byte, i int) (doc document.Document, end int, wrong string) {
	sha := ""
	end = members(body, i, func(name string, v gjson.Result) {
		ownCommit(&doc.Fields, name, v)
		switch name {
		case "sha":
			sha = text(v)
		case "commit":
			doc.Title = headline(v.Get("message").String())
			doc.CreatedAt = when(v.Get("committer.date"))
		case "author":
			doc.Author = login(v)
		case "stats":
			doc.Additions, doc.Deletions = v.Get("additions").Int(), v.Get("deletions").Int()
			doc.Measured = v.IsObject()
		}
	})
	if end >= 0 {
		doc.Raw = body[i:end:end]
	}
	doc, wrong = c.commit(doc, sha)
	return doc, end, wrong
}
