package declared

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"sluice/internal/document"
)

func (l *loader) streams(n node) {
	f := l.file
	nodes := map[string]node{}
	n.each(func(name string, value node) {
		if !streamNames.MatchString(name) || contains(taken, name) {
			value.wrong("give a name of small letters, digits and underscores that expressions do not have for something else", "%q cannot be a stream", name)
			return
		}
		f.Streams = append(f.Streams, &Stream{Name: name, Doc: value.get("doc").text(), Line: value.line()})
		nodes[name] = value
	})
	if len(nodes) == 0 {
		n.wrong("declare one", "there are no streams")
		return
	}
	for _, s := range f.Streams {
		if of := nodes[s.Name].get("of"); of.is() {
			l.family(s, of)
		}
	}
	if !l.cycles(nodes) {
		return
	}
	for _, s := range f.Streams {
		// Nothing can be said of what belongs to nobody knows what.
		if !l.orphan(s, nodes) {
			l.stream(s, nodes[s.Name])
		}
	}
	if len(l.mistakes) > 0 {
		return
	}
	for _, s := range f.Streams {
		l.carried(s)
	}
	for _, s := range f.Streams {
		l.conditional(s, nodes[s.Name])
	}
}

// orphan says whether a stream, or one that it belongs to, names a parent that is not
// there.
func (l *loader) orphan(s *Stream, nodes map[string]node) bool {
	for p := s; p != nil; p = p.Parent {
		if p.Parent == nil && nodes[p.Name].get("of").is() {
			return true
		}
	}
	return false
}

func (l *loader) family(s *Stream, of node) {
	s.Parent = l.file.Stream(of.text())
	if s.Parent == nil {
		var all []string
		for _, other := range l.file.Streams {
			if other != s {
				all = append(all, other.Name)
			}
		}
		of.wrong(meant(of.text(), all), "there is no stream %q", of.text())
		return
	}
	s.Parent.Children = append(s.Parent.Children, s)
}

// cycles reports streams that are each other's parents, and says whether there are
// none.
func (l *loader) cycles(nodes map[string]node) bool {
	for _, s := range l.file.Streams {
		path := []string{s.Name}
		for p := s.Parent; p != nil; p = p.Parent {
			path = append(path, p.Name)
			if p == s {
				nodes[s.Name].get("of").wrong("let one of them have no parent", "streams cannot be of each other: %s", strings.Join(path, " is of "))
				return false
			}
			if len(path) > len(l.file.Streams) {
				break
			}
		}
	}
	return true
}

// about are the names that expressions about a stream may speak of.
func (l *loader) about(s *Stream) names {
	known := l.names()
	for _, p := range s.ancestors() {
		known[p.Name] = map[string]any{}
	}
	return known
}

func (l *loader) stream(s *Stream, n node) {
	known, before := l.about(s), len(l.mistakes)
	withCursor := known.with(names{"cursor": ""})
	if n.get("window").is() {
		withCursor["until"] = ""
	}
	s.get, s.first = l.request(n, withCursor, false), l.request(n.get("first"), known, true)
	s.changes, s.sweep = l.request(n.get("changes"), withCursor, true), l.request(n.get("sweep"), known, true)
	l.inherited(s, n)
	l.window(s, n.get("window"))
	if count := n.get("count"); count.is() {
		s.count, s.countAt = &request{method: "GET", url: l.address(count.get("get"), known)}, l.place(count.get("at"))
	}
	s.sweepEvery = n.get("sweep").get("every").duration()
	for _, k := range n.get("key").items() {
		s.key = append(s.key, l.path(k))
	}
	s.version, s.title, s.parentKey = l.path(n.get("version")), l.path(n.get("title")), l.path(n.get("parent"))
	s.etag, s.xml, s.latest = n.get("conditional").is(), n.get("format").text() == "xml", n.get("latest").text() == "true"
	s.gone = n.get("gone").ints()
	l.cursor(s, n.get("cursor"))
	withRecord := known.with(names{"record": map[string]any{}})
	s.where = l.condition(n.get("where"), withRecord)
	n.get("add").each(func(name string, value node) { s.add = append(s.add, pair{name, l.template(value, withRecord)}) })
	for _, one := range n.get("remove").items() {
		s.remove = append(s.remove, l.path(one))
	}
	n.get("rename").each(func(name string, value node) { s.rename = append(s.rename, [2]string{name, value.text()}) })
	s.declares = n.get("columns").is()
	n.get("columns").each(func(name string, value node) { l.column(s, name, value) })
	if len(s.columns) > mostColumns {
		n.get("columns").wrong("leave some out: the payload has every value", "there are %d columns, and %d are the most of a table", len(s.columns), mostColumns)
	}
	if len(l.mistakes) == before && !l.follows(n.path) {
		l.sense(s, n)
	}
}

// inherited gives the requests of a stream what they do not say themselves: where records
// are and how pages follow each other is a stream's, unless one of its requests says
// otherwise.
func (l *loader) inherited(s *Stream, n node) {
	var pages page
	if s.get != nil {
		pages = s.get.page
	} else if n.get("page").is() {
		l.page(&pages, n.get("page"))
	}
	for name, r := range s.requests() {
		if name != "" && !n.get(name).get("records").is() {
			r.records = l.path(n.get("records"))
		}
		if name != "" && !n.get(name).get("page").is() {
			r.page = pages
		}
	}
}

// sense reports what is written well and means nothing.
func (l *loader) sense(s *Stream, n node) {
	switch {
	case s.get == nil && s.first == nil:
		n.wrong("give get: /path", "it does not say what to ask for")
	case s.get != nil && s.first != nil:
		n.get("first").wrong("leave out get, or first", "there are two first collections")
	case s.changes != nil && !s.changes.uses("cursor"):
		n.get("changes").wrong("put {cursor} where the upstream wants to know since when", "it does not say since when")
	case s.changes != nil && s.Parent != nil && !s.changes.uses(s.Parent.Name) && s.parentKey == "":
		n.get("changes").wrong("give parent: the path where a record names its parent's key", "one walk for all %s does not tell which of them a record belongs to", s.Parent.Name)
	case s.changes != nil && s.Parent != nil && !s.changes.uses(s.Parent.Name) && s.Parent.Parent != nil:
		n.get("changes").wrong("put {"+s.Parent.Name+".…} into the address", "one walk for all is only for streams of a stream that has no parent itself")
	case s.sweep != nil && s.listing():
		n.get("sweep").wrong("leave it out", "every run walks the whole stream, and finds what is gone")
	case s.followed() && s.changes != nil:
		n.get("changes").wrong("leave out {cursor} in get, or changes", "both get and changes ask since the cursor")
	case s.latest && s.sweep != nil:
		n.get("sweep").wrong("leave it out, or leave out latest", "what is not shown is not gone, so that there is nothing to look for")
	case s.etag && !s.listing():
		n.get("conditional").wrong("leave it out", "what is asked since an instant is another page each time")
	}
	l.senseOfWindow(s, n)
	checked := map[string]bool{}
	for name, r := range s.requests() {
		at := n.get("page")
		if name != "" && n.get(name).get("page").is() {
			at = n.get(name).get("page")
		}
		if r != s.count && at.is() && !checked[at.path] {
			checked[at.path] = true
			l.senseOfPage(&r.page, at)
		}
	}
}

// conditional refuses to ask conditionally for what children are made of: an answer
// that nothing changed shows no records.
func (l *loader) conditional(s *Stream, n node) {
	for _, c := range s.Children {
		if s.etag && c.perParent() {
			n.get("conditional").wrong("leave it out; conditional: etag may stand in "+c.Name,
				"a page that did not change shows no records, and %s is asked for each of them", c.Name)
		}
	}
}

// perParent says whether every run asks once for each record of the parent.
func (s *Stream) perParent() bool { return s.changes == nil || s.changes.uses(s.Parent.Name) }

func (l *loader) request(n node, known names, apart bool) *request {
	get, post := n.get("get"), n.get("post")
	if !get.is() && !post.is() {
		if apart && n.is() {
			n.wrong("give get: /path", "it does not say what to ask for")
		}
		return nil
	}
	r := &request{method: "GET", records: l.path(n.get("records"))}
	if r.url = l.address(get, known); post.is() {
		r.method, r.url = "POST", l.address(post, known)
	}
	if get.is() && post.is() {
		n.wrong("leave one of them out", "a call either gets or posts")
	}
	n.get("query").each(func(name string, value node) { r.query = append(r.query, pair{name, l.template(value, known)}) })
	n.get("body").each(func(name string, value node) { r.body = append(r.body, pair{name, l.template(value, known)}) })
	if len(r.body) > 0 && r.method == "GET" {
		n.get("body").wrong("give post instead of get", "a call that gets has no body")
	}
	l.page(&r.page, n.get("page"))
	return r
}

func (l *loader) page(p *page, n node) {
	p.kind, p.param, p.more, p.rel, p.by = n.get("type").text(), n.get("param").text(), l.path(n.get("more")), n.get("rel").text(), l.path(n.get("by"))
	if p.kind == pageWhole {
		p.kind = pageNone
	}
	p.total, p.pages, p.next = l.place(n.get("total")), l.place(n.get("pages")), l.place(n.get("next"))
	p.most, p.start = n.get("most").int(), n.get("start").int()
	if p.most <= 0 {
		p.most = 100_000
	}
	if p.rel == "" {
		p.rel = "next"
	}
	if p.kind == pageNumber && !n.get("start").is() {
		p.start = 1
	}
	n.get("size").each(func(name string, value node) { p.sizeParam, p.size = name, value.int() })
	if size := n.get("size"); size.is() && (p.size < 1 || len(size.yaml.Content) != 2) {
		size.wrong("give one parameter and its value, such as {per_page: 100}", "it does not say how large a page is")
	}
}

func (l *loader) place(n node) place {
	if n.scalar() {
		return place{body: l.path(n)}
	}
	return place{header: n.get("header").text(), body: l.path(n.get("body"))}
}

func (l *loader) senseOfPage(p *page, n node) {
	switch {
	case p.kind == pageNone && n.yaml.Kind == yaml.MappingNode && len(n.yaml.Content) > 2:
		n.wrong("leave out everything but type", "there is one page")
	case p.kind == pageNone:
	case p.counted() && p.param == "", p.kind == pageKeyset && p.param == "":
		n.wrong("give param: NAME", "it does not say which parameter tells the page")
	case p.kind == pageOffset && p.size == 0:
		n.wrong("give size: {limit: 100}", "an offset grows by the size of a page")
	case p.kind == pageCursor && !p.next.is():
		n.wrong("give next: the path of the token, or {header: NAME}", "it does not say where the token is")
	case p.kind == pageCursor && p.param == "" && p.next.header == "" && !strings.Contains(strings.ToLower(p.next.body), "ur") && !strings.Contains(strings.ToLower(p.next.body), "link") && !strings.Contains(strings.ToLower(p.next.body), "next"):
		n.wrong("give param: NAME; without it the token is taken for an address", "it does not say which parameter the token goes into")
	case p.kind != pageCursor && p.next.is():
		n.get("next").wrong("leave it out, or give type: cursor", "only a cursor has a token")
	case p.kind != pageKeyset && p.by != "":
		n.get("by").wrong("leave it out", "only keyset goes by the last record")
	}
}

func (l *loader) cursor(s *Stream, n node) {
	s.cursor = cursor{overlap: time.Minute, as: "iso"}
	if n.get("overlap").is() {
		s.cursor.overlap = n.get("overlap").duration()
	}
	if as := n.get("as").text(); as != "" {
		s.cursor.as = as
	}
	start := n.get("start")
	if !start.is() {
		return
	}
	s.cursor.begins = l.template(start, names{"config": l.names()["config"]})
	if text, ok := l.settled(s.cursor.begins); ok {
		if _, ok = guess(text); !ok {
			start.wrong("give an instant such as 2020-01-01 or 2020-01-01T00:00:00Z", "%q is not an instant", text)
		}
	}
}

var columnNames = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// mostColumns is how many columns of its own a table has at most.
const mostColumns = 100

// ownColumns are those that every table has.
var ownColumns = []string{"id", "account", "source", "title", "updated_at", "deleted", "gone_since", "gone_why", "truncated"}

func (l *loader) column(s *Stream, name string, n node) {
	c := column{name: name, at: l.path(n), typ: document.TypeText}
	if !n.scalar() {
		c.at, c.doc = l.path(n.get("at")), n.get("doc").text()
		if typ := n.get("type").text(); typ != "" {
			c.typ = document.Type(typ)
		}
	}
	switch {
	case !columnNames.MatchString(name):
		n.wrong("give a name of small letters, digits and underscores", "%q cannot be a column", name)
	case contains(ownColumns, name):
		n.wrong("give it another name", "every table has a column %q already", name)
	}
	s.columns = append(s.columns, c)
}

// carried tells the ancestors of a stream which of their records' fields its jobs
// need.
func (l *loader) carried(s *Stream) {
	reads := map[string][]string{}
	for _, r := range s.requests() {
		r.reads(reads)
	}
	for _, p := range s.add {
		p.made.reads(reads)
	}
	if s.where != nil {
		addReads(reads, s.where.reads)
	}
	for _, k := range s.key {
		first, rest, _ := strings.Cut(k, ".")
		if slices.ContainsFunc(s.ancestors(), func(p *Stream) bool { return p.Name == first }) {
			field, _, _ := strings.Cut(rest, ".")
			addReads(reads, map[string][]string{first: {field}})
		}
	}
	for _, p := range s.ancestors() {
		for _, field := range reads[p.Name] {
			if !slices.Contains(p.carries, field) {
				p.carries = append(p.carries, field)
			}
		}
		slices.Sort(p.carries)
	}
}
