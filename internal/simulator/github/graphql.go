package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

const maxNodes = 500_000

// queryCache keeps parsed documents: collectors send few different ones.
type queryCache struct {
	schema *ast.Schema // nil: what the simulator can resolve decides alone
	mu     sync.Mutex
	docs   map[string]*ast.QueryDocument
}

const maxCachedQueries = 512

func newQueryCache(schema *ast.Schema) *queryCache {
	return &queryCache{schema: schema, docs: map[string]*ast.QueryDocument{}}
}

func (q *queryCache) parse(text string) (*ast.QueryDocument, error) {
	q.mu.Lock()
	doc := q.docs[text]
	q.mu.Unlock()
	if doc != nil {
		return doc, nil
	}
	doc, err := parser.ParseQuery(&ast.Source{Name: "query", Input: text})
	if err == nil && q.schema != nil {
		doc, err = parseAgainst(q.schema, text)
	}
	if err != nil {
		return nil, fmt.Errorf("parse query: %w", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.docs) >= maxCachedQueries {
		clear(q.docs)
	}
	q.docs[text] = doc
	return doc, nil
}

type graphQLRequest struct {
	Query         string         `json:"query"`
	OperationName string         `json:"operationName"`
	Variables     map[string]any `json:"variables"`
}

// graphQL answers a query: parse, price, pay, execute.
func (c *call) graphQL() {
	var request graphQLRequest
	if err := json.Unmarshal(c.body, &request); err != nil {
		c.fail(http.StatusBadRequest, "Problems parsing JSON", "graphql")
		return
	}
	doc, err := c.server.queries.parse(request.Query)
	if err != nil {
		c.graphQLFailure(refusals(err)...)
		return
	}
	op := doc.Operations.ForName(request.OperationName)
	if op == nil || op.Operation != ast.Query {
		c.graphQLFailure(queryError{message: "A query operation is required"})
		return
	}
	ex := &execution{call: c, world: c.server.world, out: c.out, doc: doc, vars: request.Variables}
	if !ex.bindVariables(op) {
		c.graphQLFailure(ex.errors...)
		return
	}
	ex.measure(op.SelectionSet, 1, 0)
	if ex.nodes > maxNodes {
		ex.report(queryError{kind: "MAX_NODE_LIMIT_EXCEEDED", message: fmt.Sprintf("This query requests up to %d possible nodes which exceeds the maximum limit of %d.", ex.nodes, maxNodes)})
	}
	if len(ex.errors) > 0 {
		c.graphQLFailure(ex.errors...)
		return
	}
	c.cost = ex.cost()
	if !c.spend() {
		return
	}
	ex.run(op)
}

// graphQLFailure answers with errors and no data.
func (c *call) graphQLFailure(errs ...queryError) {
	c.out.b = append(c.out.b[:0], `{"errors":`...)
	writeErrors(c.out, errs)
	c.out.close('}')
}

// queryError is an entry of the errors member.
type queryError struct {
	kind, message string
	path          []any
	position      *ast.Position
	extensions    string // raw JSON
}

func writeErrors(w *buffer, errs []queryError) {
	w.open('[')
	for _, e := range errs {
		w.open('{')
		if e.kind != "" {
			w.key("type").join(e.kind)
		}
		if e.path != nil {
			w.key("path")
			writePath(w, e.path)
		}
		if e.extensions != "" {
			w.key("extensions").raw(e.extensions)
		}
		if e.position != nil {
			w.key("locations").open('[')
			w.open('{')
			w.key("line").int(int64(e.position.Line))
			w.key("column").int(int64(e.position.Column))
			w.close('}')
			w.close(']')
		}
		w.key("message").str(e.message)
		w.close('}')
	}
	w.close(']')
}

func writePath(w *buffer, path []any) {
	w.open('[')
	for _, step := range path {
		w.comma()
		switch s := step.(type) {
		case string:
			w.str(s)
		case int:
			w.int(int64(s))
		}
	}
	w.close(']')
}
