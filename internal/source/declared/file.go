package declared

import (
	"sync/atomic"
	"time"

	"sluice/internal/document"
	"sluice/internal/ration"
	"sluice/internal/source"
	"sluice/internal/source/trim"
)

// File is what a file says, checked and compiled.
type File struct {
	Name, Title, Doc string
	// Target is what an account is.
	Target string
	// Config are the values that expressions see, with their defaults.
	Config  map[string]string
	Rations []ration.Ration
	// Unknown says that nobody has found out what the upstream grants.
	Unknown bool
	Park    ration.Park
	Streams []*Stream
	// Records are kept fresh by key, each as its tier says; there are streams or records.
	Records []*Record
	tiers   source.Pace

	base *template
	// auths are how calls show their credential: the first whose condition holds.
	auths   []auth
	owner   *owner
	headers []pair
	// wrong is where an answer says what is wrong.
	wrong string
	rules []rule
}

// Stream is something that is collected.
type Stream struct {
	Name, Doc string
	Line      int
	// Parent is the stream for whose records this one is asked; nil for a root.
	Parent   *Stream
	Children []*Stream

	get, first, changes, sweep *request
	// count is the call that tells how many records there are, and countAt where.
	count   *request
	countAt place
	// window is how long the slices of time are in which it is asked for; zero for none.
	window         time.Duration
	sweepEvery     time.Duration
	key            []string
	version, title string
	// parentKey is where a record of changes names its parent's key.
	parentKey string
	etag      bool
	// xml says that answers are XML, latest that a walk shows only what came last.
	xml, latest bool
	cursor      cursor
	gone        []int
	where       *expression
	add         []pair
	remove      []string
	rename      [][2]string
	columns     []column
	// declares says that the file says which columns there are. Where it does not they
	// are inferred; misfits counts by column what does not fit them, nil before.
	declares bool
	misfits  map[string]*atomic.Int64
	inferred []InferredColumn
	// carries are the fields of this stream's records that the jobs of its
	// descendants need; "" stands for the record as a whole.
	carries []string
}

// Record is something that is asked for by key.
type Record struct {
	Name, Doc string
	Line      int
	request   *request
	// keep is what is kept of an answer, and fields its tree.
	keep   []string
	fields *trim.Fields
	fresh  time.Duration
	needs  []given
}

// given is a field of another record that an address speaks of.
type given struct {
	field string
	of    *Record
}

// Keyed says whether it describes records that are asked for by key.
func (f *File) Keyed() bool { return len(f.Records) > 0 }

// request is one way to ask for a stream.
type request struct {
	method  string
	url     *template
	query   []pair
	body    []pair
	page    page
	records string
}

// pair is a name and what it stands for.
type pair struct {
	name string
	made *template
}

type owner struct {
	url *template
	id  string
}

// cursor is how changes are followed.
type cursor struct {
	overlap time.Duration
	as      string
	// begins is where the first walk begins; nil for the beginning of time.
	begins *template
}

// rule is what an answer means if a condition holds.
type rule struct {
	holds *expression
	do    string
	wait  time.Duration
	say   string
	// what waits, for records; everything if it is not the key.
	what string
}

// place is a value of an answer: of a header, or at a path of the body.
type place struct{ header, body string }

func (p place) is() bool { return p.header != "" || p.body != "" }

// page is how pages follow each other.
type page struct {
	kind              string
	param             string
	sizeParam         string
	size, start, most int
	total, pages      place
	next              place
	more              string
	rel, by           string
}

// The types of pages.
const (
	pageNone   = ""
	pageNumber = "page"
	pageOffset = "offset"
	pageCursor = "cursor"
	pageLink   = "link"
	pageKeyset = "keyset"
	// pageWhole is how a file says pageNone where the stream has pages.
	pageWhole = "none"
)

func pageTypes() []string {
	return []string{pageNumber, pageOffset, pageCursor, pageLink, pageKeyset, pageWhole}
}

// counted says whether pages are told apart by numbers, so that all can be planned
// when it is known how many there are.
func (p *page) counted() bool { return p.kind == pageNumber || p.kind == pageOffset }

// endsByHeader says whether a header tells that there is no page behind one. A tag need
// not speak of headers: a last page that was full stays as it is when another comes.
// Pages by number are read until one is short, whatever a header counts.
func (p *page) endsByHeader() bool { return p.kind == pageLink || p.next.header != "" }

// column is one of a stream's table.
type column struct {
	name, at, doc string
	typ           document.Type
}

// Stream returns a stream by its name, nil if there is none.
func (f *File) Stream(name string) *Stream {
	for _, s := range f.Streams {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Kind is the kind of a stream's documents. Kinds are the whole program's.
func (f *File) Kind(s *Stream) document.Kind {
	return document.Kind(identifier(f.Name) + "_" + identifier(s.Name))
}

// requests are the ways in which a stream is asked for.
func (s *Stream) requests() map[string]*request {
	all := map[string]*request{}
	for name, r := range map[string]*request{"": s.get, "first": s.first, "changes": s.changes, "sweep": s.sweep, "count": s.count} {
		if r != nil {
			all[name] = r
		}
	}
	return all
}

// whole is the request of a complete walk.
func (s *Stream) whole() *request {
	if s.first != nil {
		return s.first
	}
	return s.get
}

// listing says whether every run walks the stream as a whole.
func (s *Stream) listing() bool { return s.changes == nil && !s.followed() }

// followed says whether the one request asks for what changed.
func (s *Stream) followed() bool { return s.get != nil && s.get.uses("cursor") }

// uses says whether a request speaks of a name.
func (r *request) uses(name string) bool {
	all := map[string][]string{}
	r.reads(all)
	return len(all[name]) > 0
}

func (r *request) reads(into map[string][]string) {
	r.url.reads(into)
	for _, list := range [][]pair{r.query, r.body} {
		for _, p := range list {
			p.made.reads(into)
		}
	}
}

// ancestors are the stream's parent, its parent's parent and so on.
func (s *Stream) ancestors() []*Stream {
	var all []*Stream
	for p := s.Parent; p != nil; p = p.Parent {
		all = append(all, p)
	}
	return all
}
