package github

import "strconv"

// queryField resolves the fields of the root.
func (ex *execution) queryField(f *chosen) bool {
	begin := len(ex.out.b)
	switch f.field.Name {
	case "viewer":
		ex.user(f.sub, ex.call.viewerPerson(ex.world))
	case "user", "organization", "repositoryOwner":
		ex.ownerByLogin(f)
	case "repository":
		ex.repositoryByName(f)
	case "node":
		ex.node(f, ex.stringArg(f, "id"))
	case "nodes":
		ex.nodeList(f)
	case "rateLimit":
		ex.rateLimit(f)
		return true
	default:
		return false
	}
	ex.call.dataDigest = mix(ex.call.dataDigest ^ digest(ex.out.b[begin:]))
	return true
}

func (ex *execution) repositoryByName(f *chosen) {
	owner, name := ex.stringArg(f, "owner"), ex.stringArg(f, "name")
	r, ok := ex.world.repoByName(owner, name)
	if !ok || !r.visibleTo(ex.call.viewer) {
		ex.missing(f, "Could not resolve to a Repository with the name '%s/%s'.", owner, name)
		return
	}
	if r.blocked() {
		ex.refuse(f, "FORBIDDEN", "Repository access blocked")
		return
	}
	ex.repository(f.sub, r)
}

func (ex *execution) nodeList(f *chosen) {
	ex.out.open('[')
	for i, id := range ex.stringsArg(f, "ids") {
		ex.out.comma()
		ex.path = append(ex.path, i)
		ex.node(f, id)
		ex.path = ex.path[:len(ex.path)-1]
	}
	ex.out.close(']')
}

// node resolves anything by its global id.
func (ex *execution) node(f *chosen, id string) {
	kind, number, rest, ok := splitNodeID(id)
	if kind == "U" {
		if a, found := ex.world.accountByID(number); ok && found {
			ex.user(f.sub, ex.world.person(a))
			return
		}
	} else if r, found := ex.world.repoByID(number); ok && found && r.visibleTo(ex.call.viewer) {
		if r.blocked() {
			ex.refuse(f, "FORBIDDEN", "Repository access blocked")
			return
		}
		if ex.nodeIn(f, r, kind, rest) {
			return
		}
	}
	ex.missing(f, "Could not resolve to a node with the global id of '%s'.", id)
}

func (ex *execution) nodeIn(f *chosen, r *repo, kind, rest string) bool {
	switch kind {
	case "R":
		ex.repository(f.sub, r)
		return true
	case "C":
		i, ok := r.resolve(rest)
		if ok {
			c := ex.world.commit(r, i)
			ex.commit(f.sub, &c)
		}
		return ok
	case "I", "PR":
		number, err := strconv.ParseInt(rest, 36, 32)
		it, ok := r.findItem(int(number))
		if err != nil || !ok || it.pull != (kind == "PR") {
			return false
		}
		ex.item(f.sub, &it)
		return true
	}
	return false
}

func (ex *execution) rateLimit(f *chosen) {
	left := ex.call.paid
	ex.object(f.sub, "RateLimit", func(f *chosen) bool {
		switch f.field.Name {
		case "cost":
			ex.out.int(int64(ex.cost()))
		case "limit":
			ex.out.int(int64(left.limit))
		case "remaining":
			ex.out.int(int64(left.remaining()))
		case "used":
			ex.out.int(int64(left.used))
		case "resetAt":
			ex.out.time(left.reset)
		case "nodeCount":
			ex.out.int(int64(ex.nodes))
		default:
			return false
		}
		return true
	})
}

// connectionPage is a window of a connection.
type connectionPage struct {
	typ        string // of the nodes
	total      int
	start, end int
	cursor     func(i int) string
	node       func(sel *selection, i int)
}

// connection works out the page a field asks for and writes it. locate finds
// where the listing goes on behind a cursor.
func (ex *execution) connection(f *chosen, p connectionPage, locate func(cursor string) (int, bool)) {
	if after := ex.stringArg(f, "after"); after != "" {
		start, ok := locate(after)
		if !ok {
			ex.refuse(f, "INVALID_CURSOR_ARGUMENTS", "`"+after+"` does not appear to be a valid cursor.")
			return
		}
		p.start = start
	}
	p.end = p.total
	if first, given := asInt(ex.argument(f.field, "first")); given {
		p.end = min(p.start+first, p.total)
	} else if last, given := asInt(ex.argument(f.field, "last")); given {
		p.start = max(p.start, p.total-last)
	}
	ex.object(f.sub, p.typ+"Connection", func(f *chosen) bool {
		switch f.field.Name {
		case "totalCount":
			ex.out.int(int64(p.total))
		case "nodes":
			ex.list(p, func(i int) { p.node(f.sub, i) })
		case "edges":
			ex.list(p, func(i int) { ex.edge(f, p, i) })
		case "pageInfo":
			ex.pageInfo(f, p)
		default:
			return false
		}
		return true
	})
}

func (ex *execution) list(p connectionPage, write func(i int)) {
	ex.out.open('[')
	for i := p.start; i < p.end; i++ {
		ex.path = append(ex.path, i-p.start)
		ex.out.comma()
		write(i)
		ex.path = ex.path[:len(ex.path)-1]
	}
	ex.out.close(']')
}

func (ex *execution) edge(f *chosen, p connectionPage, i int) {
	ex.object(f.sub, p.typ+"Edge", func(f *chosen) bool {
		switch f.field.Name {
		case "cursor":
			ex.out.join(p.cursor(i))
		case "node":
			p.node(f.sub, i)
		default:
			return false
		}
		return true
	})
}

func (ex *execution) pageInfo(f *chosen, p connectionPage) {
	ex.object(f.sub, "PageInfo", func(f *chosen) bool {
		switch name := f.field.Name; {
		case name == "hasNextPage":
			ex.out.bool(p.end < p.total)
		case name == "hasPreviousPage":
			ex.out.bool(p.start > 0)
		case (name == "endCursor" || name == "startCursor") && p.start >= p.end:
			ex.out.null()
		case name == "endCursor":
			ex.out.join(p.cursor(p.end - 1))
		case name == "startCursor":
			ex.out.join(p.cursor(p.start))
		default:
			return false
		}
		return true
	})
}

// count writes a connection that only ever shows how many there are.
func (ex *execution) count(f *chosen, typ string, total int64) {
	none := func(int) string { return "" }
	p := connectionPage{typ: typ, total: int(total), cursor: none, node: func(*selection, int) { ex.out.null() }}
	ex.connection(f, p, func(string) (int, bool) { return 0, false })
}
