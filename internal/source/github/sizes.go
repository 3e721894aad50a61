package github

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// pageSizes are the sizes a page can have, the usual one first. Whenever a page
// fails it is asked for again with the next smaller one: what takes GitHub too
// long at 100 often passes at 25. Each divides those before it, so that a
// listing by page numbers can change its size where it stands.
var pageSizes = [...]int{pageSize, 50, 25, 5, 1}

const (
	// lastTry is how many failures a job has when its last call is made.
	lastTry = len(pageSizes) - 1
	// steadyPages is how many pages keep the size that helped before a larger
	// one is tried.
	steadyPages = 3
)

func sizeIndex(size int) int { return max(slices.Index(pageSizes[:], size), 0) }

// size is how large a page the call asks for.
func (c *call) size() int {
	return pageSizes[min(sizeIndex(c.p.First)+c.Job.Failures, lastTry)]
}

// nextSize is what the page after this one should have, as its params say it.
func (c *call) nextSize() (first, steady int) {
	size := c.size()
	switch {
	case size == pageSize:
		return 0, 0
	case c.Job.Failures > 0:
		return size, steadyPages
	case c.p.Steady > 0:
		return size, c.p.Steady - 1
	}
	return pageSizes[sizeIndex(size)-1], 0
}

// resize asks for a REST page with the size of this try. Numbered pages are
// counted in the new size; a page behind a cursor begins where it did.
func (c *call) resize(target string) string {
	size := c.size()
	if size == pageSize && c.p.First == 0 {
		return target
	}
	u, err := url.Parse(target)
	if err != nil {
		return target
	}
	q := u.Query()
	had, err := strconv.Atoi(q.Get("per_page"))
	if err != nil || had < 1 {
		return target
	}
	if number := pageNumber(target); number > 1 && q.Get("after") == "" {
		first := (number - 1) * had
		for first%size != 0 {
			size = pageSizes[sizeIndex(size)+1]
		}
		q.Set("page", strconv.Itoa(first/size+1))
	}
	q.Set("per_page", strconv.Itoa(size))
	u.RawQuery = q.Encode()
	return u.String()
}

// withoutGraphQL goes on by REST where the job has a counterpart there.
func (s *Source) withoutGraphQL(c *call, why string) source.Result {
	if res, ok := s.askPlainly(c); ok {
		return res
	}
	p := params{Repo: c.p.Repo, Tag: strings.TrimPrefix(c.p.Tag+".rest", ".")}
	res := source.Result{Verdict: source.Done}
	switch {
	case c.Job.Type == DiscoverReposPushed && c.p.page() == 1:
		res.Next = s.restRoots(c.Run)
	case c.Job.Type == DiscoverReposUpdated:
		res.Next = []domain.JobSpec{params{Tag: p.Tag}.spec(DiscoverReposUpdated, c.Job.Resource, p.Tag, BucketCore)}
	case c.Job.Type == CommitStats:
		res.Next = []domain.JobSpec{p.spec(RepoCommits, c.Job.Resource, p.Tag, BucketCore)}
	case c.Job.Type == RepoPulls && len(c.p.Repos) > 0:
		for i := range c.p.Repos {
			one := params{Repo: &c.p.Repos[i], Tag: p.Tag}
			res.Next = append(res.Next, one.spec(RepoPulls, one.Repo.resource(), p.Tag, BucketCore))
		}
	case c.Job.Type == RepoPulls && c.p.Repo != nil && len(c.p.IDs) == 0:
		res.Next = []domain.JobSpec{p.spec(RepoPulls, c.Job.Resource, p.Tag, BucketCore)}
	case c.beside():
		w, _ := walkFor(c.Job.Type)
		return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid,
			"this GitHub does not know %ss (%s); leave them out of --%s", w.declared().kind, why, settingResources)}
	default:
		return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid,
			"this GitHub's GraphQL does not know what is asked for (%s); collect with --no-graphql", why)}
	}
	return res
}
