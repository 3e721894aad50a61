package github

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
)

// Heavy says how a connection fails that asks for too large a page.
type Heavy struct {
	// Above is the largest page that can still be had.
	Above int `json:"above"`
	// How is the failure: 502 or 504 with a page of HTML, "timeout" for an error
	// with HTTP 200 and no data, "partial" for a null in place of the connection.
	// REST knows only the first two. Empty: 502.
	How string `json:"how"`
}

// heavyKey names a connection of a repository or of a user.
type heavyKey struct {
	id         int64
	connection string
}

// heaviness is which connections are heavy.
type heaviness struct {
	mu    sync.RWMutex
	rules map[heavyKey]Heavy
}

func (h *heaviness) set(key heavyKey, rule Heavy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if rule.Above < 1 {
		delete(h.rules, key)
		return
	}
	if h.rules == nil {
		h.rules = map[heavyKey]Heavy{}
	}
	h.rules[key] = rule
}

func (h *heaviness) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rules = nil
}

func (h *heaviness) find(id int64, connection string, size int) (Heavy, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	rule, ok := h.rules[heavyKey{id, connection}]
	return rule, ok && size > rule.Above
}

// connectionNames maps REST's listings to GraphQL's connections; a rule holds
// for both.
var connectionNames = map[string]string{
	endpointCommits: "history", endpointIssues: "issues", endpointPulls: "pullRequests",
}

// connectionOf is what a rule calls a listing: GraphQL's connection, or the listing's
// own name where GraphQL is not asked for it.
func connectionOf(endpoint string) string {
	if name, ok := connectionNames[endpoint]; ok {
		return name
	}
	return endpoint
}

// SetHeavy makes one connection of a repository (history, issues, pullRequests or
// discussions), or one of its smaller listings (comments, labels …), fail for every page above a size, for ever. A size of zero ends
// that.
func (s *Server) SetHeavy(target Repo, connection string, rule Heavy) error {
	s.world.mu.RLock()
	r, ok := s.world.repoByName(target.Owner, target.Name)
	s.world.mu.RUnlock()
	switch {
	case !ok:
		return fmt.Errorf("repository %s/%s does not exist", target.Owner, target.Name)
	case connection != "history" && connection != "issues" && connection != "pullRequests" && connection != "discussions" && listingAt(connection) == nil:
		return fmt.Errorf("%q is neither history, issues, pullRequests nor a listing of a repository", connection)
	}
	s.heavy.set(heavyKey{r.id, connection}, rule)
	return nil
}

// SetHeavyAccount does the same to the list of an account's repositories.
func (s *Server) SetHeavyAccount(login string, rule Heavy) error {
	s.world.mu.RLock()
	a, ok := s.world.accountByLogin(login)
	s.world.mu.RUnlock()
	if !ok {
		return fmt.Errorf("account %s does not exist", login)
	}
	s.heavy.set(heavyKey{accountIDBase + int64(a), "repositories"}, rule)
	return nil
}

// ClearHeavy makes every connection light again.
func (s *Server) ClearHeavy() { s.heavy.clear() }

// tooHeavy fails a connection that is asked for too much; the caller writes no
// more then.
func (ex *execution) tooHeavy(f *chosen, id int64) bool {
	size, given := ex.pageSize(f.field)
	if !given {
		return false
	}
	rule, heavy := ex.call.server.heavy.find(id, f.field.Name, size)
	if !heavy {
		return false
	}
	ex.call.server.audit.injected(FaultHeavy)
	if rule.How == "partial" {
		ex.refuse(&chosen{field: &ast.Field{}}, "", wentWrong)
		return true
	}
	ex.overburdened = &rule
	ex.out.null()
	return true
}

// failHeavy makes a heavy page's failure the answer to the whole call.
func (c *call) failHeavy(rule Heavy) {
	if rule.How == "timeout" && c.route.endpoint == endpointGraphQL {
		c.out.b = append(c.out.b[:0], QueryTimeout().Body...)
		return
	}
	c.status, c.link, c.etag = http.StatusBadGateway, "", ""
	if rule.How == "504" {
		c.status = http.StatusGatewayTimeout
	}
	c.contentType = "text/html; charset=utf-8"
	c.out.b = append(c.out.b[:0], unicorn...)
}

// heavyListing fails a REST listing that is asked for too much.
func (c *call) heavyListing(r *repo) bool {
	rule, heavy := c.server.heavy.find(r.id, connectionOf(c.route.endpoint), c.page().size)
	if heavy {
		c.server.audit.injected(FaultHeavy)
		c.failHeavy(rule)
	}
	return heavy
}
