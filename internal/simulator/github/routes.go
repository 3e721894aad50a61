package github

import (
	"net/http"
	"strconv"
	"strings"
)

// The classes of endpoints: the audit counts by them and the points per minute
// are given per class.
const (
	endpointUser      = "user"
	endpointViewer    = "viewer"
	endpointEvents    = "events"
	endpointUserRepos = "user_repos"
	endpointMembers   = "members"
	endpointTeams     = "teams"

	endpointPublicMembers = "public_members"

	endpointRepo      = "repo"
	endpointCommits   = "commits"
	endpointCommit    = "commit"
	endpointIssues    = "issues"
	endpointIssue     = "issue"
	endpointPulls     = "pulls"
	endpointPull      = "pull"
	endpointRateLimit = "rate_limit"
	endpointGraphQL   = "graphql"
	endpointOther     = "other"
)

// route is a request's path taken apart.
type route struct {
	endpoint string
	login    string // /users/{login}, or the owner of a repository
	userID   int64  // /user/{id}
	name     string // /repos/{login}/{name}
	repoID   int64  // /repositories/{id}
	tail     string // what follows the repository, for redirects
	arg      string // a ref, a number or an installation's id
}

func (r *route) bucket() bucket {
	if r.endpoint == endpointGraphQL {
		return bucketGraphQL
	}
	return bucketCore
}

func parseRoute(method, path string) route {
	other := route{endpoint: endpointOther}
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if segments[0] == "graphql" && len(segments) == 1 && method == http.MethodPost {
		return route{endpoint: endpointGraphQL}
	}
	if r, ok := appRoute(method, segments); ok {
		return r
	}
	if method != http.MethodGet && method != http.MethodHead {
		return other
	}
	switch first, rest := segments[0], segments[1:]; {
	case first == "rate_limit" && len(rest) == 0:
		return route{endpoint: endpointRateLimit}
	case first == "user" && len(rest) == 0:
		return route{endpoint: endpointViewer}
	case first == "users" && len(rest) > 0:
		return userRoute(route{login: rest[0]}, rest[1:])
	case first == "user" && len(rest) > 0:
		id, err := strconv.ParseInt(rest[0], 10, 64)
		if err != nil {
			return other
		}
		return userRoute(route{userID: id}, rest[1:])
	case first == "orgs" && len(rest) > 0:
		return orgRoute(route{login: rest[0]}, rest[1:])
	case first == "organizations" && len(rest) > 0:
		id, err := strconv.ParseInt(rest[0], 10, 64)
		if err != nil {
			return other
		}
		return orgRoute(route{userID: id}, rest[1:])
	case first == "repos" && len(rest) > 1:
		return repoRoute(route{login: rest[0], name: rest[1]}, rest[2:])
	case first == "repositories" && len(rest) > 0:
		id, err := strconv.ParseInt(rest[0], 10, 64)
		if err != nil {
			return other
		}
		return repoRoute(route{repoID: id}, rest[1:])
	}
	return other
}

func userRoute(r route, rest []string) route {
	switch {
	case len(rest) == 0:
		r.endpoint = endpointUser
	case len(rest) == 1 && rest[0] == "events":
		r.endpoint = endpointEvents
	case len(rest) == 1 && rest[0] == "repos":
		r.endpoint = endpointUserRepos
	default:
		r.endpoint = endpointOther
	}
	return r
}

func orgRoute(r route, rest []string) route {
	r.endpoint = endpointOther
	if len(rest) != 1 {
		return r
	}
	switch rest[0] {
	case "members":
		r.endpoint = endpointMembers
	case "public_members":
		r.endpoint = endpointPublicMembers
	case "teams":
		r.endpoint = endpointTeams
	}
	return r
}

func repoRoute(r route, rest []string) route {
	r.endpoint = endpointOther
	if len(rest) == 0 {
		r.endpoint = endpointRepo
		return r
	}
	if part := partRoute(strings.Join(rest, "/")); part != "" {
		r.endpoint, r.tail = part, "/"+strings.Join(rest, "/")
		return r
	}
	list, single := repoEndpoints(rest[0])
	switch {
	case list == "":
	case len(rest) == 1:
		r.endpoint = list
		r.tail = "/" + rest[0]
	default:
		r.endpoint = single
		r.arg = strings.Join(rest[1:], "/")
		r.tail = "/" + rest[0] + "/" + r.arg
	}
	return r
}

// repoEndpoints gives the listing below a repository and the single thing below
// the listing.
func repoEndpoints(segment string) (list, single string) {
	switch segment {
	case "commits":
		return endpointCommits, endpointCommit
	case "issues":
		return endpointIssues, endpointIssue
	case "pulls":
		return endpointPulls, endpointPull
	}
	return "", ""
}

// subject is the account a request is about, -1 when it is not about one.
func (c *call) subject() int {
	s := c.server
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	switch {
	case c.route.login != "":
		if a, ok := s.world.accountByLogin(c.route.login); ok {
			return a
		}
	case c.route.repoID != 0:
		if r, ok := s.world.repoByID(c.route.repoID); ok {
			return r.account
		}
	case c.route.userID != 0:
		if a, ok := s.world.accountByID(c.route.userID); ok {
			return a
		}
	}
	return c.viewer
}

// render produces the real answer from the world as it is now.
func (c *call) render() {
	world := c.server.world
	world.mu.RLock()
	defer world.mu.RUnlock()
	if c.route.endpoint == endpointGraphQL {
		c.graphQL()
		return
	}
	w := &renderer{buffer: c.out, world: world, base: c.base}
	switch c.route.endpoint {
	case endpointRateLimit:
		c.serveRateLimit(w)
		return
	case endpointAccessTokens:
		c.serveAccessToken(w)
	case endpointViewer:
		c.serveViewer(w)
	case endpointUser, endpointEvents, endpointUserRepos:
		c.serveAccount(w)
	case endpointMembers, endpointPublicMembers, endpointTeams:
		c.serveOrganization(w)
	case endpointOther:
		c.notFound()
	default:
		c.serveRepo(w)
	}
	if c.status == http.StatusOK {
		c.tag()
	}
}
