package declared

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"sluice/internal/quota"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// unknownPiece stands for what an expression of an address will make.
const unknownPiece = "\x00"

// drawing is what the calls of a source draw on.
type drawing struct {
	file *File
	// byJob are the rations that a type of job may draw on: which of its requests it
	// makes is known when it is made, and what it did not draw on is free then.
	byJob  map[string][]*ration.Ration
	shared bool
	// parts are the values of headers by which an upstream tells which count a call
	// drew on, by ration and stream.
	parts sync.Map
	// costs are what calls took lately, by ration and stream.
	costs sync.Map
}

func newDrawing(f *File, jobs map[string]operation) *drawing {
	d := &drawing{file: f, byJob: make(map[string][]*ration.Ration, len(jobs)), shared: f.Park.What == ration.WhoSource}
	for i := range f.Rations {
		r := &f.Rations[i]
		if !slices.Contains(r.Per, ration.PerOwner) && !slices.Contains(r.Per, ration.PerKey) {
			d.shared = true
		}
		for name, op := range jobs {
			if drawnBy(r, f, op) {
				d.byJob[name] = append(d.byJob[name], r)
			}
		}
	}
	return d
}

// of is what a job's call draws on.
func (d *drawing) of(job string, op operation) *quota.Drawn {
	drawn := &quota.Drawn{Shared: d.shared, Park: d.file.Park.What, Stream: op.name()}
	for _, r := range d.byJob[job] {
		learnt, _ := d.parts.Load(r.Name + " " + op.name())
		value, _ := learnt.(string)
		drawn.Draws = append(drawn.Draws, keeper.Draw{Ration: r, Cost: max(r.Cost, d.thought(r, op.name()), 1), Part: partOf(r, op.name(), value)})
	}
	return drawn
}

// thought is what a call of a stream took lately, 0 if that is not known.
func (d *drawing) thought(r *ration.Ration, stream string) int {
	took, _ := d.costs.Load(r.Name + " " + stream)
	n, _ := took.(int)
	return n
}

// took notes what a call has taken: what is thought of the next one rises to it at
// once, and comes down by halves.
func (d *drawing) took(r *ration.Ration, stream string, n int) {
	d.costs.Store(r.Name+" "+stream, max(n, (n+d.thought(r, stream))/2))
}

// partOf is what tells counts apart besides their owner.
func partOf(r *ration.Ration, stream, header string) string {
	var pieces []string
	for _, dimension := range r.Per {
		switch {
		case dimension == ration.PerStream:
			pieces = append(pieces, stream)
		case dimension.Header() != "" && header != "":
			pieces = append(pieces, header)
		}
	}
	return strings.Join(pieces, " ")
}

func (op operation) name() string {
	if op.stream == nil {
		return "owner"
	}
	return op.stream.Name
}

// requests are those that a type of job may make.
func (op operation) requests() (all []*request) {
	switch op.mode {
	case modeSweep:
		all = append(all, op.stream.sweep)
	case modeAll:
		all = append(all, op.stream.changes)
	case modeCount:
		all = append(all, op.stream.count)
	case modeMain:
		all = append(all, op.stream.whole(), op.stream.changes)
	case modeOwner:
	}
	return slices.DeleteFunc(all, func(r *request) bool { return r == nil })
}

// drawnBy says whether a job may draw on a ration.
func drawnBy(r *ration.Ration, f *File, op operation) bool {
	if len(r.Match) == 0 {
		return true
	}
	// Any call may find that it has to ask for a token first.
	for i := range f.auths {
		if in := f.auths[i].login; in != nil && mayMatch(r, http.MethodPost, in.url, loginStream) {
			return true
		}
	}
	if op.mode == modeOwner {
		return mayMatch(r, http.MethodGet, f.owner.url, op.name())
	}
	return slices.ContainsFunc(op.requests(), func(q *request) bool { return mayMatch(r, q.method, q.url, op.name()) })
}

func mayMatch(r *ration.Ration, method string, url *template, stream string) bool {
	path := url.outline()
	if _, rest, whole := strings.Cut(path, "://"); whole {
		_, rest, _ = strings.Cut(rest, "/")
		path = "/" + rest
	}
	if !strings.HasPrefix(path, "/") {
		// It is an address as a whole that a record or the file's config names.
		return true
	}
	pieces := strings.Split(path, "/")
	return slices.ContainsFunc(r.Match, func(m ration.Match) bool {
		// Where an expression stands, whatever the pattern has may come to be.
		for i, wanted := range strings.Split(m.Path, "/") {
			if i < len(pieces) && strings.Contains(pieces[i], unknownPiece) && wanted != "**" {
				pieces[i] = wanted
			}
		}
		filled := strings.ReplaceAll(strings.Join(pieces, "/"), "*", "x")
		pieces = strings.Split(path, "/")
		return m.Applies(method, filled, stream)
	})
}

// outline is the path of an address, with what expressions will make left open.
func (t *template) outline() string {
	var all strings.Builder
	for _, p := range t.parts {
		if p.made != nil {
			all.WriteString(unknownPiece)
			continue
		}
		all.WriteString(p.text)
	}
	path, _, _ := strings.Cut(all.String(), "?")
	return path
}

// told is what an answer tells of what the call drew on, by draw.
func (c *call) told(a *answer) []keeper.Answer {
	d := c.s.drawing
	at := a.ration()
	if !a.date.IsZero() && a.date.Sub(a.came).Abs() < dateTolerance {
		// Instants are told by the upstream's clock.
		at.At = a.date
	}
	all := make([]keeper.Answer, 0, 4)
	for _, r := range d.byJob[c.Job.Type] {
		one := keeper.Answer{}
		switch {
		case len(r.Match) > 0 && !r.Applies(c.method(), c.path(), c.name()):
			one.Free = true
		case len(r.Counts) > 0 && !slices.Contains(r.Counts, a.status):
			one.Free = true
		default:
			one = readingOf(r, at)
			c.learnPart(r, a, &one)
			if n, known := r.Took(at); known {
				one.Cost, one.Free = n, n == 0
				d.took(r, c.name(), n)
			}
		}
		all = append(all, one)
	}
	return all
}

// learnPart notes which count a call drew on in truth, for the next one.
func (c *call) learnPart(r *ration.Ration, a *answer, one *keeper.Answer) {
	for _, dimension := range r.Per {
		name := dimension.Header()
		if name == "" || a.status == http.StatusUnauthorized {
			continue
		}
		if value := a.header.Get(name); value != "" && len(value) <= 200 {
			c.s.drawing.parts.Store(r.Name+" "+c.name(), value)
			one.Part, one.Moved = partOf(r, c.name(), value), true
		}
	}
}

func (c *call) method() string {
	if c.request == nil {
		return http.MethodGet
	}
	return c.request.method
}

// path is what was asked for, below the base.
func (c *call) path() string { return c.below(c.asked) }

func (c *call) below(u *url.URL) string {
	return "/" + strings.TrimLeft(strings.TrimPrefix(u.EscapedPath(), strings.TrimRight(c.base.EscapedPath(), "/")), "/")
}

// readingOf is what an answer tells of a ration. Of several that an upstream names it
// is the one of that name, else that of as long a window, else the tightest. What the
// headers of a 401 say is about callers without a credential.
func readingOf(r *ration.Ration, at *ration.Answer) keeper.Answer {
	if at.Status == http.StatusUnauthorized {
		return keeper.Answer{}
	}
	readings, _ := r.Read.Of(at)
	var is *ration.Reading
	for i := range readings {
		if readings[i].Policy == r.Name || is == nil && readings[i].Window > 0 && readings[i].Window == r.Every.Length {
			is = &readings[i]
		}
	}
	if is == nil {
		if is = ration.Tightest(readings); is == nil && len(readings) > 0 {
			is = &readings[0]
		}
	}
	if is == nil {
		return keeper.Answer{}
	}
	one := keeper.Answer{Limit: is.Limit, Left: is.Left, HasLeft: is.HasLeft, Refill: is.Refill, Window: is.Window}
	if r.Calls > 0 && one.Limit > r.Calls {
		// What the file says is the most: an upstream may tell of another limit than the
		// one that it holds to.
		one.Limit, one.HasLeft = r.Calls, one.HasLeft && one.Left < r.Calls
	}
	if most := cmp.Or(r.Refill, r.Calls); most > 0 {
		one.Refill = min(one.Refill, most)
	}
	if !is.Reset.IsZero() {
		one.In = max(is.Reset.Sub(at.At), 0)
	}
	return one
}
