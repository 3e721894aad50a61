package github

import (
	"cmp"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// What belongs to the pull requests of several small repositories is asked for at once
// when it is collected first: GitHub prices a query by how much it might have to look up,
// and rounds that down.

// packNested adds the first walks of what belongs to pull requests, those of small repositories
// together.
func (d *discovery) packNested() {
	for _, n := range d.nestedOrder {
		for _, group := range nestedPacks(d.nested[n]) {
			if len(group.repos) == 1 {
				d.add(params{}, n.typ, group.repos[0], BucketGraphQL, group.most)
				continue
			}
			p := params{Repos: group.repos, Most: int(group.most)}
			d.res.Next = append(d.res.Next, p.spec(n.typ, d.c.Job.Resource, packKey(group.repos), BucketGraphQL))
		}
	}
	d.nested, d.nestedOrder = nil, nil
}

// holdBack keeps a first walk for a pack, if it is small enough.
func (d *discovery) holdBack(w walk, r *repository) bool {
	n, ok := w.(*nested)
	if !ok || d.tag != "" || r.threads.pulls >= onePoint || r.threads.pulls > pageSize || !d.cursorOf(n.typ, n.bucket, *r).IsZero() {
		return false
	}
	if d.nested == nil {
		d.nested = map[*nested][]packed{}
	}
	if _, met := d.nested[n]; !met {
		d.nestedOrder = append(d.nestedOrder, n)
	}
	d.nested[n] = append(d.nested[n], packed{r.repoRef, r.threads.pulls})
	return true
}

// nestedPacks groups repositories so that each group costs one point: as many as there
// are, each with as many pull requests as the largest has.
func nestedPacks(repos []packed) []pack {
	slices.SortStableFunc(repos, func(a, b packed) int { return cmp.Compare(b.pulls, a.pulls) })
	var groups []pack
	for _, r := range repos {
		if last := len(groups) - 1; last >= 0 && int64(len(groups[last].repos)+1)*(1+groups[last].most) <= onePoint && len(groups[last].repos) < pageSize {
			groups[last].repos = append(groups[last].repos, r.repoRef)
			continue
		}
		groups = append(groups, pack{[]repoRef{r.repoRef}, r.pulls})
	}
	return groups
}

// readPack reads what belongs to the pull requests of several repositories. Each stands
// for itself: what one of them lacks gets a job of its own.
func (n *nested) readPack(s *Source, c *call, a *answer, root gjson.Result, unknown holes) source.Result {
	res := source.Result{Verdict: source.Done}
	at := -1
	count, wrong := eachNode(a.body, root, func(i int) (int, string) {
		end := checkValue(a.body, i, 0)
		if at++; end > 0 && at < len(c.p.Repos) {
			n.readPacked(s, c, a, &res, at, valueOf(a.body, i, end), unknown.node("", at))
		}
		return end, ""
	})
	if wrong != "" || count != len(c.p.Repos) {
		return incomplete(c, a, "the "+n.connection+" of a repository", unknown)
	}
	res.Items = len(res.Documents)
	return res
}

func (n *nested) readPacked(s *Source, c *call, a *answer, res *source.Result, i int, node gjson.Result, unknown holes) {
	one := *c
	one.p = params{Repo: &c.p.Repos[i], At: c.p.At, Start: c.p.Start, Plain: c.p.Plain}
	one.Job.Resource, one.Job.PageKey, one.Job.Failures, one.Since = one.p.Repo.resource(), "", 0, time.Time{}
	if node.IsObject() && text(node.Get("id")) == one.p.Repo.Node {
		if part := n.read(s, &one, a, node, unknown); part.Verdict == source.Done {
			res.Documents = append(res.Documents, part.Documents...)
			res.Next = append(res.Next, part.Next...)
			res.Cursors = append(res.Cursors, part.Cursors...)
			return
		}
	}
	if unknown.hidden() && unknown[0].isNotFound() {
		res.Next = append(res.Next, c.check(*one.p.Repo, false))
		return
	}
	res.Next = append(res.Next, n.unpack(c, i))
}

// unpack is the job for one repository of a pack.
func (n *nested) unpack(c *call, i int) domain.JobSpec {
	p := params{Repo: &c.p.Repos[i], Plain: c.p.Plain}
	return p.spec(n.typ, p.Repo.resource(), "", BucketGraphQL)
}

// split gives up on asking for several repositories at once.
func (n *nested) split(_ *Source, c *call) source.Result {
	if len(c.p.Repos) == 0 {
		return source.Result{}
	}
	res := source.Result{Verdict: source.Done}
	for i := range c.p.Repos {
		res.Next = append(res.Next, n.unpack(c, i))
	}
	return res
}
