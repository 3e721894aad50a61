package github

import (
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// A list that is read as a whole is asked for only where it may have changed. Discovery
// asks how many each repository has and when these changed, which is a point for 100
// repositories, and no call of REST is made for what is as it was.

// question is what discovery asks about a list: how many there are, and when these
// changed.
type question struct {
	// member is the connection, fields what is asked of it.
	member, fields string
	// newestFirst says that the first element changed last, so that it stands for all.
	newestFirst bool
	// timeless says that an element without a time never changed. Of others it is not
	// known then when they did.
	timeless bool
}

// told is what discovery says of a list.
type told struct {
	total  int64
	newest time.Time
	// all says that newest is that of all elements.
	all bool
}

// toldOf are the resources among the named ones of which discovery can tell.
func toldOf(names []string) []resource {
	return slices.DeleteFunc(slices.Clone(resources()), func(r resource) bool { return r.told == nil || !slices.Contains(names, r.name()) })
}

// toldFields are what is asked beside for the named resources.
func toldFields(names []string) string {
	var b strings.Builder
	for _, r := range toldOf(names) {
		b.WriteString(" " + r.told.fields)
	}
	return b.String()
}

// queriesOf are the queries that a job asks.
func (s *Source) queriesOf(c *call) *queries {
	if c.p.Plain {
		return &s.plain
	}
	return &s.queries
}

// askPlainly asks once more in the words of older servers, if that may be what this
// GitHub does not know: lists are then asked for themselves.
func (s *Source) askPlainly(c *call) (source.Result, bool) {
	differs := false
	switch c.Job.Type {
	case DiscoverReposUpdated, DiscoverContributed, DiscoverRepo, DiscoverTarget:
		differs = s.told > 0
	case RepoPulls, SweepPulls, RepoReviews, SweepReviews:
		differs = true
	}
	if c.p.Plain || !differs {
		return source.Result{}, false
	}
	p := c.p
	p.Plain = true
	spec := p.spec(c.Job.Type, c.Job.Resource, "plain:"+c.Job.PageKey, BucketGraphQL)
	spec.Class = c.Job.Class
	return source.Result{Verdict: source.Done, Next: []domain.JobSpec{spec}}, true
}

// questionOf is the question that a member of a repository answers, nil for others.
func questionOf(member string) *question {
	for i := range resources() {
		if q := resources()[i].told; q != nil && q.member == member {
			return q
		}
	}
	return nil
}

// readTold reads what a member says of a list. What cannot be read is not known, and
// the list is asked for.
func (r *repository) readTold(member string, v gjson.Result) {
	q := questionOf(member)
	if q == nil {
		return
	}
	total := v.Get("totalCount")
	if total.Type != gjson.Number {
		return
	}
	one := told{total: total.Int()}
	n, dated := int64(0), true
	v.Get("nodes").ForEach(func(_, node gjson.Result) bool {
		updated := when(node.Get("updatedAt"))
		dated = node.IsObject() && (q.timeless || !updated.IsZero())
		n, one.newest = n+1, latest(one.newest, updated)
		return dated
	})
	one.all = dated && (n == one.total || n > 0 && q.newestFirst)
	if r.lists == nil {
		r.lists = map[string]told{}
	}
	r.lists[member] = one
}

// withoutTold is a repository's payload without what was asked about its lists, which
// is nothing that anybody would look for there.
func withoutTold(raw []byte) []byte {
	var out []byte
	skipped := false
	members(raw, 0, func(name string, v gjson.Result) {
		if questionOf(name) != nil {
			skipped = true
			return
		}
		out = append(out, ",\""...)
		out = append(out, name...)
		out = append(out, "\":"...)
		out = append(out, v.Raw...)
	})
	if !skipped || len(out) == 0 {
		return raw
	}
	out[0] = '{'
	return append(out, '}')
}

// withoutTold leaves out what is unknown about the repository's lists alone: what was
// told of these is forgotten, so that they are asked for.
func (h holes) withoutTold(r *repository) holes {
	return slices.DeleteFunc(slices.Clone(h), func(e graphError) bool {
		if len(e.path) == 0 || questionOf(e.path[0]) == nil {
			return false
		}
		delete(r.lists, e.path[0])
		return true
	})
}

// mostCounted is how far a cursor can count.
const mostCounted = 1_000_000

// refused is what a cursor counts of a list that GitHub would not show.
const refused = mostCounted - 1

// refusedLately tells whether GitHub would not show a list, and was asked not long ago: a
// refusal is charged, and little changes about it.
func (d *discovery) refusedLately(cursor time.Time) bool {
	return toldRefused(cursor) && d.fetched.Sub(cursor) < d.s.opt.SweepEvery
}

func toldRefused(cursor time.Time) bool {
	return !cursor.IsZero() && cursor.Nanosecond()/1000 == refused
}

// countedAt is the cursor of a list: its anchor, which has whole seconds, and as the
// fraction of a second how many there were.
func countedAt(at time.Time, total int64) time.Time {
	return at.Add(time.Duration(total%mostCounted) * time.Microsecond)
}

// listDue tells whether a list may have changed since it was read. What discovery cannot
// tell, such as how often an asset was downloaded, is looked at as often as what was
// deleted is.
func (d *discovery) listDue(one *resource, at *route, r *repository) (due bool, total, items int64) {
	cursor := d.cursorOf(at.typ, at.bucket, *r)
	is, known := r.lists[one.told.member]
	switch {
	case !known:
		return true, 0, 1
	case cursor.IsZero():
		return is.total > 0, is.total, is.total
	case !is.all, int64(cursor.Nanosecond()/1000) != is.total%mostCounted, !is.newest.Before(d.from(cursor)):
		return true, is.total, is.total
	}
	// A walk over changes would not see what did not change its time: a sweep does.
	return at.sweep == "" && d.s.opt.SweepEvery >= 0 && d.fetched.Sub(cursor) >= d.s.opt.SweepEvery, is.total, is.total
}
