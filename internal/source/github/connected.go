package github

import (
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/source"
)

// connected declares something that a repository has in GraphQL and that can be ordered
// by the time of changes: all of it at first, later what changed, newest first.
type connected struct {
	route
	connection, fields string
	item               reader
}

// connectedQueries are the texts for one.
type connectedQueries struct{ all, changed []byte }

func (k *connected) queries() connectedQueries {
	walk := func(order string) []byte {
		return jsonString(`query($id:ID!,$after:String,$first:Int!){node(id:$id){...on Repository{` + k.connection + `(first:$first,after:$after,` +
			`orderBy:{` + order + `}){` + pageInfo + ` nodes{` + k.fields + `}}}}` + rateLimit + `}`)
	}
	return connectedQueries{all: walk(`field:CREATED_AT,direction:ASC`), changed: walk(`field:UPDATED_AT,direction:DESC`)}
}

func (k *connected) operation() operation {
	return operation{request: k.request, read: graph("node", k.read)}
}

func (k *connected) changes(c *call) bool { return c.Job.Type == k.typ && !c.walkSince().IsZero() }

func (k *connected) request(s *Source, c *call) request {
	q := s.queries.connected[c.Job.Type]
	query := q.all
	if k.changes(c) {
		query = q.changed
	}
	return graphqlRequest(query, map[string]any{"id": c.p.Repo.Node, "after": cursorOrNull(c.p.After), "first": c.size()})
}

func (k *connected) read(s *Source, c *call, a *answer, root gjson.Result, unknown holes) source.Result {
	res := pageOf(a)
	list, ok := readConnection(root.Get(k.connection), unknown.at(k.connection))
	if !ok || len(unknown) > 0 {
		return incomplete(c, a, "a list of "+k.connection, unknown)
	}
	var from time.Time
	if k.changes(c) {
		from = s.from(c.walkSince())
		c.p.Since = seconds(c.walkSince())
	}
	_, wrong := eachNode(a.body, list.nodes, func(i int) (int, string) {
		doc, end, wrong := k.item(c, a.body, i)
		switch {
		case wrong != "":
		case doc.UpdatedAt.Before(from):
			list.after = ""
		default:
			doc.Raw = a.body[i:end:end]
			s.fit(&doc)
			res.Documents = append(res.Documents, doc)
		}
		return end, wrong
	})
	if wrong != "" {
		return incomplete(c, a, wrong, unknown)
	}
	res.Items = len(res.Documents)
	if c.walkOn(&res, list, from.IsZero()) {
		return res
	}
	res.Cursors = append(res.Cursors, c.cursor(c.Job.Type))
	if c.Job.Type == k.sweep && c.metAll() {
		res.Absences = append(res.Absences, c.notSeen(k.kind, document.GoneDeleted))
	}
	return res
}
