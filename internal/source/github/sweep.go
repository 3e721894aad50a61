package github

import (
	"math"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// Nothing tells that an issue or a pull request was deleted: it is merely
// listed no more. A sweep walks the numbers of all that are there, 100 a call,
// and what is stored between two of its pages and not among them is gone.

// addSweeps adds the sweeps of a repository that are due. The first collection
// of a repository stands for one.
func (d *discovery) addSweeps(r repository) {
	if d.s.opt.SweepEvery < 0 || d.s.opt.NoGraphQL {
		return
	}
	if !r.NoIssues {
		d.sweep(SweepIssues, r)
	}
	d.sweep(SweepPulls, r)
}

func (d *discovery) sweep(typ string, r repository) {
	last := d.cursorOf(typ, r)
	if last.IsZero() {
		d.skip(typ, r.repoRef)
		return
	}
	if d.fetched.Sub(last) < d.s.opt.SweepEvery {
		return
	}
	ref := r.repoRef
	spec := params{Repo: &ref}.spec(typ, ref.resource(), "", BucketGraphQL)
	spec.Priority = domain.PriorityLow
	d.res.Next = append(d.res.Next, spec)
}

func sweepQuery(connection string) []byte {
	return jsonString(`query($id:ID!,$after:String){node(id:$id){...on Repository{items:` + connection + `(first:100,after:$after,` +
		`orderBy:{field:CREATED_AT,direction:ASC}){` + pageInfo + ` nodes{number}}}}` + rateLimit + `}`)
}

func sweepRequest(s *Source, c *call) request {
	query := s.queries.sweepIssues
	if c.Job.Type == SweepPulls {
		query = s.queries.sweepPulls
	}
	return graphqlRequest(query, map[string]any{"id": c.p.Repo.Node, "after": cursorOrNull(c.p.After)})
}

func readSweep(_ *Source, c *call, _ *answer, node gjson.Result, errs []graphError) source.Result {
	k, ok := readConnection(node.Get("items"))
	if !ok {
		return incomplete("a list of numbers", errs)
	}
	gone := document.Absence{
		Account: c.Run.AccountID, Repository: c.p.Repo.ID, Kind: document.KindIssue,
		After: c.p.Last, UpTo: c.p.Last, CreatedBefore: unix(c.p.At),
	}
	if c.Job.Type == SweepPulls {
		gone.Kind = document.KindPull
	}
	k.nodes.ForEach(func(_, n gjson.Result) bool {
		number := n.Get("number").Int()
		gone.Present = append(gone.Present, number)
		gone.UpTo = max(gone.UpTo, number)
		return true
	})
	c.p.Last = gone.UpTo
	if k.after == "" {
		gone.UpTo = math.MaxInt64
	}
	res := source.Result{Verdict: source.Done, Absences: []document.Absence{gone}}
	if !c.walkOn(&res, k, true) {
		res.Cursors = append(res.Cursors, c.cursor(c.Job.Type))
	}
	return res
}
