package github

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// packSize is how many pull requests one call may bring when it asks for those
// of several repositories at once.
const packSize = 2 * pageSize

// packed is a repository whose pull requests fit into one page.
type packed struct {
	repoRef
	pulls int64
}

// pack is a group of repositories; most is how many pull requests the largest has.
type pack struct {
	repos []repoRef
	most  int64
}

// packs groups repositories so that few calls bring the pull requests of all:
// the largest first, each into the first group with room for it.
func packs(repos []packed) []pack {
	slices.SortStableFunc(repos, func(a, b packed) int { return cmp.Compare(b.pulls, a.pulls) })
	var groups []pack
	var room []int64
next:
	for _, r := range repos {
		for i := range groups {
			if room[i] >= r.pulls && len(groups[i].repos) < pageSize {
				groups[i].repos = append(groups[i].repos, r.repoRef)
				room[i] -= r.pulls
				continue next
			}
		}
		groups = append(groups, pack{[]repoRef{r.repoRef}, r.pulls})
		room = append(room, packSize-r.pulls)
	}
	return groups
}

// addPacks adds the jobs for the pull requests of small repositories.
func (d *discovery) addPacks() {
	d.packNested()
	for _, group := range packs(d.small) {
		if len(group.repos) == 1 {
			d.add(params{}, RepoPulls, group.repos[0], BucketGraphQL, pageSize)
			continue
		}
		p := params{Repos: group.repos, Most: int(group.most)}
		d.res.Next = append(d.res.Next, p.spec(RepoPulls, d.c.Job.Resource, packKey(group.repos), BucketGraphQL))
	}
}

// onePoint is how many requests for connections GitHub counts in a query that it
// rounds down to one point.
const onePoint = 149

// packPage is how many pull requests a pack asks for of each repository, and
// whether it asks for their labels: only where that adds no point, since labels are
// priced by what every repository might have.
func (p *params) packPage() (first int, labels bool) {
	if p.Most > 0 && p.Most <= pageSize && len(p.Repos)*(1+p.Most) <= onePoint {
		return p.Most, true
	}
	return pageSize, false
}

// packKey tells groups apart: a repository that moves during the walk is met
// again, in other company, and that group must not be taken for the first.
func packKey(group []repoRef) string {
	h := fnv.New64a()
	for _, r := range group {
		h.Write(strconv.AppendInt(nil, r.ID, 36))
		h.Write([]byte{'.'})
	}
	return "repos:" + strconv.FormatUint(h.Sum64(), 36)
}

func nodesOf(repos []repoRef) []string {
	ids := make([]string, len(repos))
	for i := range repos {
		ids[i] = repos[i].Node
	}
	return ids
}

// splitPack gives up on asking for several repositories at once.
func splitPack(_ *Source, c *call) source.Result {
	if len(c.p.Repos) == 0 {
		return source.Result{}
	}
	res := source.Result{Verdict: source.Done}
	for i := range c.p.Repos {
		res.Next = append(res.Next, c.unpack(i))
	}
	return res
}

// unpack is the job for the pull requests of one repository of a pack.
func (c *call) unpack(i int) domain.JobSpec {
	p := params{Repo: &c.p.Repos[i]}
	return p.spec(RepoPulls, p.Repo.resource(), "", BucketGraphQL)
}

// readPullPack reads the pull requests of several repositories. Each stands for
// itself: what one of them lacks gets a job of its own.
func readPullPack(s *Source, c *call, a *answer, root gjson.Result, unknown holes) source.Result {
	res := source.Result{Verdict: source.Done}
	at := -1
	n, wrong := eachNode(a.body, root, func(i int) (int, string) {
		end := checkValue(a.body, i, 0)
		if at++; end > 0 && at < len(c.p.Repos) {
			c.readPacked(s, a, &res, at, valueOf(a.body, i, end), unknown.node("", at))
		}
		return end, ""
	})
	if wrong != "" || n != len(c.p.Repos) {
		return incomplete(c, a, "the pull requests of a repository", unknown)
	}
	res.Items = len(res.Documents)
	return res
}

func (c *call) readPacked(s *Source, a *answer, res *source.Result, i int, node gjson.Result, unknown holes) {
	one := *c
	one.p = params{Repo: &c.p.Repos[i], At: c.p.At, Start: c.p.Start}
	one.Job.Resource = one.p.Repo.resource()
	one.Job.PageKey = ""
	one.Job.Failures = 0
	one.Since = time.Time{}
	switch {
	case node.IsObject() && text(node.Get("id")) == one.p.Repo.Node:
		part := readAllPulls(s, &one, a, node, unknown)
		if part.Verdict == source.Done {
			res.Documents = append(res.Documents, part.Documents...)
			res.Next = append(res.Next, part.Next...)
			res.Cursors = append(res.Cursors, part.Cursors...)
			return
		}
	case unknown.hidden() && unknown[0].isNotFound():
		res.Next = append(res.Next, c.check(*one.p.Repo, false))
		return
	}
	res.Next = append(res.Next, c.unpack(i))
}
