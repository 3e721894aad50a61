package github

import "sluice/internal/domain"

// expectRest lets the next page of a walk stand for what it and those behind it
// will lead to: as many calls for each repository as this page's take. The last of
// next is that page; total is how many repositories the walk has.
func (d *discovery) expectRest(total, read int) {
	last := len(d.res.Next) - 1
	unread := total - d.c.p.page()*pageSize
	if read == 0 || unread <= 0 {
		return
	}
	calls := 0
	for _, spec := range d.res.Next[:last] {
		if spec.Class == domain.ClassChild {
			calls += spec.Calls()
		}
	}
	next := &d.res.Next[last]
	next.Expected = next.Calls() + (calls*unread+read-1)/read
}
