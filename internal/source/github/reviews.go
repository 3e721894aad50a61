package github

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/source"
)

// Reviews have no listing of their own in REST but one for each pull request. GraphQL
// tells those of 100 pull requests for one point, so they are walked with these: all
// of them at first, later those that changed, newest first. Of a pull request with
// more reviews than a page holds the others follow before the walk goes on.

const reviewFields = `databaseId state body author{login} authorAssociation createdAt submittedAt updatedAt url commit{oid}`

const reviewsOfPull = `id number updatedAt reviews(first:100){` + pageInfo + ` nodes{` + reviewFields + `}}`

func reviewQueries(q *queries) {
	walk := func(order string) []byte {
		return jsonString(`query($id:ID!,$after:String,$first:Int!){node(id:$id){...on Repository{pullRequests(first:$first,after:$after,` +
			`orderBy:{` + order + `}){` + pageInfo + ` nodes{` + reviewsOfPull + `}}}}` + rateLimit + `}`)
	}
	q.reviews, q.reviewsChanged = walk(`field:CREATED_AT,direction:ASC`), walk(`field:UPDATED_AT,direction:DESC`)
	q.reviewsMore = jsonString(`query($id:ID!,$after:String,$first:Int!){node(id:$id){...on PullRequest{id number reviews(first:$first,after:$after){` +
		pageInfo + ` nodes{` + reviewFields + `}}}}` + rateLimit + `}`)
}

func reviewKind() document.Declaration {
	return document.Declaration{Kind: KindReview, Source: Name, Plural: "reviews", Doc: "reviews of pull requests; none of servers without GraphQL",
		Columns: reviewColumns(), Read: fromPayload(ownReview)}
}

func reviewsRequest(s *Source, c *call) request {
	if len(c.p.IDs) > 0 {
		node, after, _ := strings.Cut(c.p.IDs[0], " ")
		return graphqlRequest(s.queries.reviewsMore, map[string]any{"id": node, "after": cursorOrNull(after), "first": c.size()})
	}
	query := s.queries.reviews
	if c.changedReviews() {
		query = s.queries.reviewsChanged
	}
	return graphqlRequest(query, map[string]any{"id": c.p.Repo.Node, "after": cursorOrNull(c.p.After), "first": c.size()})
}

func (c *call) changedReviews() bool { return c.Job.Type == RepoReviews && !c.walkSince().IsZero() }

// readReviews reads the reviews of a page of pull requests. What an answer leaves open
// is asked for again, in smaller pages.
func readReviews(s *Source, c *call, a *answer, root gjson.Result, unknown holes) source.Result {
	res := pageOf(a)
	if len(c.p.IDs) > 0 {
		return c.readMoreReviews(s, a, res, root, unknown)
	}
	k, ok := readConnection(root.Get("pullRequests"), unknown.at("pullRequests"))
	if !ok || len(unknown) > 0 {
		return incomplete(c, a, "a list of reviews", unknown)
	}
	var from time.Time
	if c.changedReviews() {
		from = s.from(c.walkSince())
		c.p.Since = seconds(c.walkSince())
	}
	var more []string
	wrong := ""
	k.nodes.ForEach(func(_, pull gjson.Result) bool {
		if when(pull.Get("updatedAt")).Before(from) {
			k.after = ""
			return false
		}
		var rest string
		if rest, wrong = c.reviewsOf(s, a, &res, pull); rest != "" {
			more = append(more, rest)
		}
		return wrong == ""
	})
	if wrong != "" {
		return incomplete(c, a, wrong, unknown)
	}
	res.Items = len(res.Documents)
	going := c.walkOn(&res, k, from.IsZero())
	switch {
	case len(more) > 0:
		c.fetchFirst(&res, more)
		last := &res.Next[len(res.Next)-1]
		last.Type = c.Job.Type
	case !going:
		c.endReviews(&res)
	}
	return res
}

// reviewsOf reads the reviews of one pull request; rest names what is left of them.
func (c *call) reviewsOf(s *Source, a *answer, res *source.Result, pull gjson.Result) (rest, wrong string) {
	number, node := pull.Get("number").Int(), text(pull.Get("id"))
	k, ok := readConnection(pull.Get("reviews"), nil)
	if !ok || number == 0 || node == "" {
		return "", "the reviews of a pull request"
	}
	_, wrong = eachNode(a.body, k.nodes, func(i int) (int, string) {
		doc, end, wrong := c.review(a.body, i, number)
		if wrong == "" {
			s.fit(&doc)
			res.Documents = append(res.Documents, doc)
		}
		return end, wrong
	})
	if k.after != "" {
		rest = node + " " + k.after
	}
	return rest, wrong
}

// readMoreReviews reads further reviews of one pull request, and goes on with the next
// that has more, or with the walk.
func (c *call) readMoreReviews(s *Source, a *answer, res source.Result, pull gjson.Result, unknown holes) source.Result {
	rest, wrong := c.reviewsOf(s, a, &res, pull)
	if wrong != "" || len(unknown) > 0 {
		return incomplete(c, a, "the reviews of a pull request", unknown)
	}
	res.Items = len(res.Documents)
	p := c.p
	p.IDs, p.First = p.IDs[1:], 0
	if rest != "" {
		p.IDs = append([]string{rest}, p.IDs...)
	}
	switch {
	case len(p.IDs) > 0:
		res.Next = append(res.Next, p.spec(c.Job.Type, c.Job.Resource, p.key("more:"+p.IDs[0]), BucketGraphQL))
	case c.p.Then != nil:
		res.Next = append(res.Next, c.p.Then.spec(c.Job.Type, c.Job.Resource, c.p.Then.key(c.p.Then.After), BucketGraphQL))
	default:
		c.endReviews(&res)
	}
	return res
}

func (c *call) endReviews(res *source.Result) {
	res.Cursors = append(res.Cursors, c.cursor(c.Job.Type))
	if c.Job.Type == SweepReviews && c.p.Start != 0 {
		res.Absences = append(res.Absences, c.notSeen(KindReview, document.GoneDeleted))
	}
}

func (c *call) review(body []byte, i int, number int64) (doc document.Document, end int, wrong string) {
	id := int64(0)
	end = members(body, i, func(name string, v gjson.Result) {
		ownReview(&doc.Fields, name, v)
		switch name {
		case "databaseId":
			id = v.Int()
		case "state":
			doc.State = strings.ToLower(text(v))
		case "author":
			doc.Author = login(v)
		default:
			graphTimes(&doc.Fields, name, v)
		}
	})
	if end < 0 || id == 0 || doc.UpdatedAt.IsZero() {
		return doc, end, "a review is cut off or has no id or no time"
	}
	doc.Number, doc.Raw = number, body[i:end:end]
	c.inherit(&doc.Fields)
	doc.Key, doc.Version = c.key(KindReview, formatID(id)), doc.UpdatedAt
	return doc, end, ""
}

func ownReview(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "body":
		setText(f, "body", v)
	case "authorAssociation":
		setText(f, "author_association", v)
	case "submittedAt":
		setInstant(f, "submitted_at", v)
	case "commit":
		setText(f, "sha", v.Get("oid"))
	case "url":
		setURL(f, name, v)
	}
}

func reviewColumns() []document.Column {
	return table(document.TypeInteger, repositoryIDColumn, repositoryColumn, aboutColumn("pull request"),
		document.Column{Name: "state", Type: document.TypeText, From: document.FromState, Repeats: true,
			Doc: "approved, changes_requested, commented, dismissed or pending"},
		bodyColumn, authorColumn, roleColumn, repeated(ownText("sha", "the commit that was reviewed")),
		ownColumn("submitted_at", document.TypeInstant, "when it was submitted; null while it is pending"),
		createdAtColumn, updatedAtColumn, urlColumn)
}
