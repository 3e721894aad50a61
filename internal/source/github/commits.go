package github

import (
	"net/url"
	"strconv"
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

func readProof(history gjson.Result) proof {
	return proof{head: text(history.Get("nodes.0.oid")), total: int(history.Get("totalCount").Int())}
}

func (c *call) rememberProof(res *source.Result, p proof) {
	res.Stored = append(res.Stored, domain.Page{
		AccountID: c.Run.AccountID, Key: storedKey(CommitStats, c.Job.Resource, ""), ETag: p.head, Items: p.total,
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
		"id": c.p.Repo.Node, "after": cursorOrNull(c.p.After), "until": c.Run.Anchor.UTC().Format(time.RFC3339),
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

func readHistory(s *Source, c *call, a *answer, root gjson.Result, errs []graphError) source.Result {
	branch := root.Get("defaultBranchRef")
	if branch.Exists() && branch.Type == gjson.Null && len(errs) == 0 {
		return source.Result{Verdict: source.Done, Pages: 1, Cursors: []domain.Cursor{c.cursor(CommitStats)}}
	}
	target := branch.Get("target")
	k, ok := readConnection(target.Get("history"))
	if !ok {
		return incomplete("a history", errs)
	}
	res := pageOf(a)
	n, wrong := eachNode(a.body, k.nodes, func(i int) (int, string) {
		doc, end, wrong := c.historyCommit(a.body, i)
		if wrong == "" && !doc.Measured {
			p := params{Repo: c.p.Repo}
			res.Next = append(res.Next, p.spec(CommitDetail, c.Job.Resource, commitSHA(doc), BucketCore))
		}
		s.fit(&doc)
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return incomplete(wrong, errs)
	}
	res.Items = n
	if c.onlyChanges() {
		c.finishChanges(&res, k, target)
	} else {
		c.finishHistory(&res, k)
	}
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
	}
}

// finishChanges goes on with a walk for changes, or begins a walk of everything
// if the old part is not what it was.
func (c *call) finishChanges(res *source.Result, k connection, target gjson.Result) {
	if c.p.page() == 1 {
		known := proof{c.Stored.ETag, c.Stored.Items}
		if readProof(target.Get("past")) != known {
			p := params{Repo: c.p.Repo, Owner: c.p.Owner, At: c.p.At, Full: true}
			res.Next = append(res.Next, p.spec(CommitStats, c.Job.Resource, fullWalk, c.Job.Bucket))
			return
		}
		whole := readProof(target.Get("whole"))
		c.p.Since, c.p.Head, c.p.Total = seconds(c.Since), whole.head, whole.total
	}
	if !c.walkOn(res, k, true) {
		c.rememberProof(res, proof{c.p.Head, c.p.Total})
		res.Cursors = append(res.Cursors, c.cursor(CommitStats))
	}
}

func (c *call) historyCommit(body []byte, i int) (doc document.Document, end int, wrong string) {
	sha := ""
	measures := 0
	end = members(body, i, func(name string, v gjson.Result) {
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
	doc.Measured = measures == 2
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
	doc.Key = c.key(document.KindCommit, formatID(c.p.Repo.ID)+":"+sha)
	doc.Version = doc.CreatedAt
	if doc.Measured {
		doc.Version = doc.Version.Add(time.Second)
	}
	return doc, ""
}

func commitSHA(doc document.Document) string { return doc.Name[len(formatID(doc.Repository))+1:] }

// commitsRequest lists commits in REST, bounded by the run's anchor, so that a
// push cannot shift the pages.
func commitsRequest(s *Source, c *call) request {
	if c.p.URL != "" {
		return request{target: c.p.URL}
	}
	q := url.Values{"per_page": {strconv.Itoa(pageSize)}, "until": {c.Run.Anchor.UTC().Format(time.RFC3339)}}
	if since := s.from(c.Since); !since.IsZero() {
		q.Set("since", since.Format(time.RFC3339))
	}
	if s.opt.OnlyOwnCommits {
		q.Set("author", c.Run.Login)
	}
	return request{target: c.p.Repo.path() + "/commits?" + q.Encode()}
}

func readCommits(s *Source, c *call, a *answer) source.Result {
	res := pageOf(a)
	n, wrong := eachOf(a.body, func(i int) (int, string) {
		doc, end, wrong := c.restCommit(a.body, i)
		if wrong == "" {
			p := params{Repo: c.p.Repo}
			res.Next = append(res.Next, p.spec(CommitDetail, c.Job.Resource, commitSHA(doc), BucketCore))
		}
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return malformed(wrong)
	}
	res.Items = n
	c.goOn(&res, s.linksOf(c, a))
	return res
}

func commitRequest(_ *Source, c *call) request {
	if c.p.URL != "" {
		return request{target: c.p.URL}
	}
	return request{target: c.p.Repo.path() + "/commits/" + url.PathEscape(c.Job.PageKey)}
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
