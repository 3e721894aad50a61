package github

import (
	"path"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// An account is a target: a user or an organisation, named by its login, or one
// repository, named owner/name. Which of the first two a login is, GitHub tells with
// the first page of repositories.

// splitTarget takes a target apart; name is empty unless it is a repository.
func splitTarget(login string) (owner, name string) {
	owner, name, _ = strings.Cut(login, "/")
	return owner, name
}

func isRepository(login string) bool { return strings.Contains(login, "/") }

// checkRepositoryName says what is wrong with a repository's name.
func checkRepositoryName(name string) string {
	plain := func(b byte) bool { return alphanumeric(b) || b == '-' || b == '_' || b == '.' }
	switch {
	case name == "" || name == "." || name == "..":
		return "behind the slash stands a repository's name, as in owner/name"
	case len(name) > 100:
		return "a repository's name is not longer than 100 characters"
	case !all(name, plain):
		return "a repository's name has letters, digits, hyphens, underscores and dots alone"
	}
	return ""
}

// Filter chooses among the repositories of users and organisations. A repository
// that is a target itself is collected in any case.
type Filter struct {
	// Include and Exclude are patterns as of path.Match on owner/name, or on the
	// name alone if they have no slash. Nothing to include means everything.
	Include, Exclude []string
	// NoForks and NoArchived leave out forks and archived repositories.
	NoForks, NoArchived bool
	// Visibility is public, private or empty for all.
	Visibility string
}

// patterns reads a list of patterns as settings have it.
func patterns(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

// check says which pattern is malformed, "" if none is.
func (f *Filter) check() string {
	for _, pattern := range slices.Concat(f.Include, f.Exclude) {
		if _, err := path.Match(pattern, ""); err != nil {
			return pattern
		}
	}
	return ""
}

func matches(list []string, fullName string) bool {
	fullName = strings.ToLower(fullName)
	_, name := splitTarget(fullName)
	return slices.ContainsFunc(list, func(pattern string) bool {
		subject := name
		if strings.Contains(pattern, "/") {
			subject = fullName
		}
		// What is malformed was refused when the source was made.
		ok, _ := path.Match(pattern, subject)
		return ok
	})
}

// takes reports whether a repository is to be collected.
func (f *Filter) takes(r *repository) bool {
	switch {
	case f.NoForks && r.Fork, f.NoArchived && r.archived:
		return false
	case f.Visibility != "" && (f.Visibility == "private") != r.Private:
		return false
	}
	return (len(f.Include) == 0 || matches(f.Include, r.Name)) && !matches(f.Exclude, r.Name)
}

// takes reports whether a run collects a repository that it met.
func (c *call) takes(r *repository) bool {
	return isRepository(c.Run.Login) || c.opt.Filter.takes(r)
}

// targetRequest asks for the one repository of a run, by its name: GitHub follows
// renames and transfers.
func targetRequest(s *Source, c *call) request {
	owner, name := splitTarget(c.Run.Login)
	if c.Job.Bucket == BucketGraphQL {
		return graphqlRequest(s.queriesOf(c).target, map[string]any{"owner": owner, "name": name})
	}
	if c.p.URL != "" {
		return request{target: c.p.URL}
	}
	// Neither needs escaping, see CheckLogin.
	return request{target: "/repos/" + owner + "/" + name}
}

// readTarget reads the one repository of a run. Under its name there may be another
// by now: then the one that was collected is looked at by its id.
func readTarget(s *Source, c *call, a *answer, node gjson.Result, unknown holes) source.Result {
	r, end := readRepository(a.body, node.Index)
	if end < 0 || r.ID == 0 || r.Node == "" {
		return incomplete(c, a, "a repository", unknown)
	}
	d := s.discovery(c, a)
	d.res.Items, d.res.Pages = 1, 1
	d.res.Target = domain.TargetRepository
	d.res.Owner = ownerName(c.Token, view(a.body).Get("data.viewer.databaseId"))
	c.p.Unmet = c.unmet()
	d.met(r.ID)
	if len(unknown.withoutTold(&r)) > 0 || !r.whole() || !r.threads.known() {
		d.askAlone(r)
	} else {
		d.repository(r)
		d.share()
		d.addPacks()
	}
	d.res.Cursors = append(d.res.Cursors, c.cursor(DiscoverTarget))
	c.lookForUnmet(&d.res)
	return d.res
}

// readTargetREST is readTarget for servers without GraphQL.
func readTargetREST(s *Source, c *call, a *answer) source.Result {
	r, _ := readRESTRepository(a.body, 0)
	if r.raw == nil || r.ID == 0 || r.Name == "" {
		return malformed("a repository has no id or no name")
	}
	d := s.discovery(c, a)
	d.res.Items, d.res.Pages = 1, 1
	d.res.Target = domain.TargetRepository
	c.p.Unmet = c.unmet()
	d.met(r.ID)
	if !d.withheld(r) {
		d.listed(r)
		d.res.Documents = append(d.res.Documents, d.document(r))
		d.listings(r)
		d.addSweeps(r, BucketCore)
		d.resources(r)
	}
	d.res.Cursors = append(d.res.Cursors, c.cursor(DiscoverTarget))
	c.lookForUnmet(&d.res)
	return d.res
}

// missingTarget is the meaning of a repository that GitHub does not find by its
// name. One that was collected is looked at by its id, which tells whether it is
// gone; otherwise nobody knows what to collect.
func (c *call) missingTarget() source.Result {
	if c.p.Unmet = c.unmet(); len(c.p.Unmet) == 0 {
		return unknownLogin(c)
	}
	res := source.Result{Verdict: source.Done}
	c.lookForUnmet(&res)
	return res
}
