package github

import (
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// walk is how a resource is listed: as a whole (listing), from an instant on (stream),
// newest first (feed), by a connection of GraphQL (connected), or with the pull requests
// that its elements belong to (nested).
type walk interface {
	declared() *route
	operation() operation
}

// route is what every walk has.
type route struct {
	// typ is the type of its jobs, and sweep that of jobs which begin at the beginning to
	// find what was deleted; empty if the former do.
	typ, sweep string
	kind       document.Kind
	// bucket is what it draws on.
	bucket string
	// endpoint is the route of REST that shares a points-per-minute limit, path what
	// follows the repository or the organisation, query what is asked for beside the size
	// of a page, and wrap the member that holds the list, if it is not the answer.
	endpoint, path, query, wrap string
	// mayHide says that a refusal is a finding: the token may not see it, or it is
	// switched off.
	mayHide bool
	// child says that another walk leads to it.
	child bool
}

func (r *route) declared() *route { return r }

// walks are all that there are, by the types of their jobs.
var walks = sync.OnceValue(func() map[string]walk {
	all := map[string]walk{}
	add := func(w walk) {
		r := w.declared()
		all[r.typ] = w
		if r.sweep != "" {
			all[r.sweep] = w
		}
	}
	add(&orgMembers)
	add(&orgTeams)
	for _, r := range resources() {
		for _, w := range r.walks {
			add(w)
		}
	}
	return all
})

// walkFor is the walk of a type of jobs; ok is false for those that are none.
func walkFor(typ string) (w walk, ok bool) {
	w, ok = walks()[typ]
	return w, ok
}

// hidden is the meaning of a refusal where the token may lack the right to look: a
// finding, not a fault. Nothing is said to be gone.
func (c *call) hidden() (source.Result, bool) {
	w, ok := walkFor(c.Job.Type)
	if !ok {
		return source.Result{}, false
	}
	if k, ok := w.(*children); ok {
		return k.passOver(c), true
	}
	if !w.declared().mayHide {
		return source.Result{}, false
	}
	c.p.Told = refused
	return source.Result{Verdict: source.Done, Pages: 1, Cursors: []domain.Cursor{c.cursor(c.Job.Type)}}, true
}

// switchedOff is the meaning of an answer that says that a repository does not have this,
// or is empty.
func (c *call) switchedOff() source.Result {
	if w, _ := walkFor(c.Job.Type); w != nil {
		if k, ok := w.(*children); ok {
			return k.passOver(c)
		}
	}
	return source.Result{Verdict: source.Done, Pages: 1, Cursors: []domain.Cursor{c.cursor(c.Job.Type)}}
}

// element declares how an element of a listing is read.
type element struct {
	kind document.Kind
	// identity is the member that names it: by itself if that is an id, else beside its
	// repository.
	identity string
	own      ownReader
	// fields sets what the element has of the fields that all documents have, beside who
	// made it and when; nil if that is nothing.
	fields func(f *document.Fields, name string, v gjson.Result)
	// dated says that its updated_at tells which of two copies is newer. Others are as
	// new as the walk that read them: counts change without their updated_at.
	dated bool
}

// read reads the element at i.
func (e *element) read(c *call, body []byte, i int) (doc document.Document, end int, wrong string) {
	name := ""
	end = members(body, i, func(member string, v gjson.Result) {
		e.own(&doc.Fields, member, v)
		if member == e.identity {
			name = c.nameOf(v, e.identity)
		}
		common(&doc.Fields, member, v)
		if e.fields != nil {
			e.fields(&doc.Fields, member, v)
		}
	})
	if end < 0 || name == "" || e.dated && doc.UpdatedAt.IsZero() {
		return doc, end, "an element of " + string(e.kind) + "s is cut off, or has no " + e.identity + " or no time"
	}
	c.inherit(&doc.Fields)
	doc.Key, doc.Version = c.key(e.kind, name), unix(c.p.At)
	if e.dated {
		doc.Version = doc.UpdatedAt
	}
	return doc, end, ""
}

// nameOf names an element by its identity.
func (c *call) nameOf(v gjson.Result, identity string) string {
	id := text(v)
	if id == "" || identity == "id" || identity == "databaseId" {
		return strings.TrimPrefix(id, "0")
	}
	return c.within(id)
}

// within names what only its repository tells apart.
func (c *call) within(name string) string { return formatID(c.p.Repo.ID) + ":" + name }

// common reads what elements of all listings call alike, in REST and in GraphQL.
func common(f *document.Fields, name string, v gjson.Result) {
	switch name {
	case "user", "author", "creator", "actor":
		f.Author = login(v)
	case "created_at", "createdAt":
		f.CreatedAt = when(v)
	case "updated_at", "updatedAt":
		f.UpdatedAt = when(v)
	case "closed_at", "closedAt":
		f.ClosedAt = when(v)
	}
}

// elements reads the elements of an answer into a result; total is how many the answer
// says that there are, untoldTotal if it does not, and newest when the one changed that
// changed last.
func (r *route) elements(s *Source, c *call, a *answer, read reader) (res source.Result, total int64, newest time.Time, wrong string) {
	res = pageOf(a)
	one := func(i int) (int, string) {
		doc, end, wrong := read(c, a.body, i)
		if wrong == "" {
			newest = latest(newest, latest(doc.CreatedAt, doc.UpdatedAt))
			doc.Raw = a.body[i:end:end]
			s.fit(&doc)
			res.Documents = append(res.Documents, doc)
		}
		return end, wrong
	}
	if r.wrap == "" {
		res.Items, wrong = eachOf(a.body, one)
		return res, untoldTotal, newest, wrong
	}
	whole := view(a.body)
	list := whole.Get(r.wrap)
	if !list.IsArray() {
		return res, untoldTotal, newest, "there is no list of " + string(r.kind) + "s"
	}
	res.Items, wrong = eachNode(a.body, list, one)
	if v := whole.Get("total_count"); v.Type == gjson.Number {
		return res, v.Int(), newest, wrong
	}
	return res, untoldTotal, newest, wrong
}

// untoldTotal is no length that a list can have.
const untoldTotal = -1

// reader reads one element of a listing.
type reader func(c *call, body []byte, i int) (doc document.Document, end int, wrong string)
