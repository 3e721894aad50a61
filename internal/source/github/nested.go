package github

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/source"
)

// nested declares something that REST lists for one pull request at a time. GraphQL
// tells that of 100 pull requests for one point, so it is walked with these: all of them
// at first, later those that changed, newest first. Of a pull request with more than a
// page holds the others follow before the walk goes on.
type nested struct {
	route
	// connection is what a pull request has, and fields what is asked of its nodes.
	connection, fields string
	item               func(c *call, body []byte, i int, number int64) (doc document.Document, end int, wrong string)
}

// nestedQueries are the texts for one: all, those that changed, more of one pull request,
// and all of several repositories.
type nestedQueries struct{ all, changed, more, many []byte }

func (n *nested) queries(text func(query string) []byte) nestedQueries {
	walk := func(order string) []byte {
		return text(`query($id:ID!,$after:String,$first:Int!){node(id:$id){...on Repository{pullRequests(first:$first,after:$after,` +
			`orderBy:{` + order + `}){` + pageInfo + ` nodes{id number updatedAt ` + n.connection + `(first:100){` + pageInfo + ` nodes{` + n.fields + `}}}}}}` +
			rateLimit + `}`)
	}
	return nestedQueries{
		all: walk(`field:CREATED_AT,direction:ASC`), changed: walk(`field:UPDATED_AT,direction:DESC`),
		more: text(`query($id:ID!,$after:String,$first:Int!){node(id:$id){...on PullRequest{id number ` + n.connection + `(first:$first,after:$after){` +
			pageInfo + ` nodes{` + n.fields + `}}}}` + rateLimit + `}`),
		many: text(`query($ids:[ID!]!,$first:Int!){nodes(ids:$ids){...on Repository{id pullRequests(first:$first,orderBy:{field:CREATED_AT,direction:ASC}){` +
			pageInfo + ` nodes{id number updatedAt ` + n.connection + `(first:100){` + pageInfo + ` nodes{` + n.fields + `}}}}}}` + rateLimit + `}`),
	}
}

func (n *nested) operation() operation {
	one, many := graph("node", n.read), graph("nodes", n.readPack)
	return operation{request: n.request, otherwise: n.split, read: func(s *Source, c *call, a *answer) source.Result {
		if len(c.p.Repos) > 0 {
			return many(s, c, a)
		}
		return one(s, c, a)
	}}
}

func (n *nested) request(s *Source, c *call) request {
	q := s.queriesOf(c).nested[c.Job.Type]
	if len(c.p.Repos) > 0 {
		return graphqlRequest(q.many, map[string]any{"ids": nodesOf(c.p.Repos), "first": c.p.Most})
	}
	if len(c.p.IDs) > 0 {
		node, after, _ := strings.Cut(c.p.IDs[0], " ")
		return graphqlRequest(q.more, map[string]any{"id": node, "after": cursorOrNull(after), "first": c.size()})
	}
	query := q.all
	if n.changes(c) {
		query = q.changed
	}
	return graphqlRequest(query, map[string]any{"id": c.p.Repo.Node, "after": cursorOrNull(c.p.After), "first": c.size()})
}

func (n *nested) changes(c *call) bool { return c.Job.Type == n.typ && !c.walkSince().IsZero() }

// read reads what a page of pull requests holds. What an answer leaves open is asked for
// again, in smaller pages.
func (n *nested) read(s *Source, c *call, a *answer, root gjson.Result, unknown holes) source.Result {
	res := pageOf(a)
	if len(c.p.IDs) > 0 {
		return n.readMore(s, c, a, res, root, unknown)
	}
	k, ok := readConnection(root.Get("pullRequests"), unknown.at("pullRequests"))
	if !ok || len(unknown) > 0 {
		return incomplete(c, a, "a list of "+n.connection, unknown)
	}
	var from time.Time
	if n.changes(c) {
		from = s.from(c.walkSince())
		c.p.Since = seconds(c.walkSince())
	}
	var more []string
	wrong := ""
	k.nodes.ForEach(func(_, pull gjson.Result) bool {
		switch updated := when(pull.Get("updatedAt")); {
		case updated.IsZero() || pull.Get("number").Int() == 0 || text(pull.Get("id")) == "":
			wrong = "a pull request has no id, no number or no time" // it may be new
			return false
		case updated.Before(from):
			k.after = ""
			return false
		}
		var rest string
		if rest, wrong = n.of(s, c, a, &res, pull); rest != "" {
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
		n.end(c, &res)
	}
	return res
}

// of reads what one pull request holds; rest names what is left of it.
func (n *nested) of(s *Source, c *call, a *answer, res *source.Result, pull gjson.Result) (rest, wrong string) {
	number, node := pull.Get("number").Int(), text(pull.Get("id"))
	if list := pull.Get(n.connection); number != 0 && list.Exists() && list.Type == gjson.Null {
		// GitHub has none to show, such as the files of a change that it cannot compare.
		c.p.Partial = true
		return "", ""
	}
	k, ok := readConnection(pull.Get(n.connection), nil)
	if !ok || number == 0 || node == "" {
		return "", "the " + n.connection + " of a pull request"
	}
	_, wrong = eachNode(a.body, k.nodes, func(i int) (int, string) {
		doc, end, wrong := n.item(c, a.body, i, number)
		if wrong == "" {
			doc.Raw = a.body[i:end:end]
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

// readMore reads what else one pull request holds, and goes on with the next that has
// more, or with the walk.
func (n *nested) readMore(s *Source, c *call, a *answer, res source.Result, pull gjson.Result, unknown holes) source.Result {
	rest, wrong := n.of(s, c, a, &res, pull)
	if wrong != "" || len(unknown) > 0 {
		return incomplete(c, a, "the "+n.connection+" of a pull request", unknown)
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
		then := *c.p.Then
		then.Partial = then.Partial || c.p.Partial
		res.Next = append(res.Next, then.spec(c.Job.Type, c.Job.Resource, then.key(then.After), BucketGraphQL))
	default:
		n.end(c, &res)
	}
	return res
}

func (n *nested) end(c *call, res *source.Result) {
	res.Cursors = append(res.Cursors, c.cursor(c.Job.Type))
	if c.Job.Type == n.sweep && c.metAll() {
		res.Absences = append(res.Absences, c.notSeen(n.kind, document.GoneDeleted))
	}
}
