package declared

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options are how an upstream is made. The zero of each is its default.
type Options struct {
	Seed uint64
	// Records is how many each stream of the account has, Children how many each of
	// them has of its own, about.
	Records, Children int
	Now               func() time.Time
	// URL is where the server is; only records that name addresses need it.
	URL string
	// Spread is for how long records have been changing, in sixty steps.
	Spread time.Duration
	// Open says which ends of a slice of time are not in it: 1 its begin, 2 its end, 3
	// both. Miscount is by how much counts lie.
	Open, Miscount int
	// Faults is the share of calls that something happens to, from 0 to 1.
	Faults float64
}

// Server is a simulated upstream.
type Server struct {
	spec   *Spec
	opt    Options
	world  *world
	counts *counts
	logins logins
	routes []compiled
	keyed  []keyedRoute
	mux    *http.ServeMux

	mu     sync.Mutex
	random *rand.Rand
	orders []Order
}

// compiled is a route that requests are compared with.
type compiled struct {
	*Route
	stream *kept
	path   *regexp.Regexp
	query  map[string]*regexp.Regexp
	// field is by which of the parent's fields it is named; "" if it is not.
	field string
}

// asked is what a request names.
type asked struct{ parent, since, until string }

// New makes an upstream.
func New(spec Spec, o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Records <= 0 {
		o.Records = 25
	}
	if o.Children <= 0 {
		o.Children = 3
	}
	s := &Server{spec: &spec, opt: o, counts: newCounts(&spec, o.Now), mux: http.NewServeMux(), random: rand.New(rand.NewPCG(o.Seed, 2))}
	s.world = newWorld(s.spec, o)
	s.world.base = strings.TrimRight(o.URL, "/")
	for i := range spec.Streams {
		for j := range spec.Streams[i].Routes {
			r, err := compileRoute(&spec.Streams[i].Routes[j], s.world.streams[spec.Streams[i].Name])
			if err != nil {
				return nil, err
			}
			s.routes = append(s.routes, r)
		}
	}
	for i := range spec.Keyed {
		r, err := compileKeyed(&spec.Keyed[i])
		if err != nil {
			return nil, err
		}
		s.keyed = append(s.keyed, r)
	}
	s.api()
	return s, nil
}

// SetURL tells the upstream where it is.
func (s *Server) SetURL(url string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.base = strings.TrimRight(url, "/")
}

var holes = regexp.MustCompile(`\{([^}]*)\}`)

func compileRoute(r *Route, stream *kept) (compiled, error) {
	c := compiled{Route: r, stream: stream, query: map[string]*regexp.Regexp{}}
	var err error
	if c.path, err = c.pattern(r.Path, "[^/]+"); err != nil {
		return c, err
	}
	for name, value := range r.Query {
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		if c.query[name], err = c.pattern(value, ".+?"); err != nil {
			return c, err
		}
	}
	return c, nil
}

// pattern compiles a text with holes.
func (c *compiled) pattern(text, hole string) (*regexp.Regexp, error) {
	var pattern strings.Builder
	last := 0
	for _, at := range holes.FindAllStringSubmatchIndex(text, -1) {
		pattern.WriteString(regexp.QuoteMeta(text[last:at[0]]))
		field, parent := strings.CutPrefix(text[at[2]:at[3]], "parent.")
		switch {
		case parent:
			c.field = field
			pattern.WriteString("(?P<parent>" + hole + ")")
		case text[at[2]:at[3]] == "cursor":
			pattern.WriteString("(?P<since>" + hole + ")")
		case text[at[2]:at[3]] == "until":
			pattern.WriteString("(?P<until>" + hole + ")")
		default:
			pattern.WriteString(hole)
		}
		last = at[1]
	}
	pattern.WriteString(regexp.QuoteMeta(text[last:]))
	return regexp.Compile("^" + pattern.String() + "$")
}

// takes says whether a request takes the route, and what it names.
func (c *compiled) takes(r *http.Request) (a asked, ok bool) {
	if c.Method != r.Method || !a.from(c.path, r.URL.EscapedPath(), url.PathUnescape) {
		return a, false
	}
	query := r.URL.Query()
	for name, pattern := range c.query {
		if !query.Has(name) || !a.from(pattern, query.Get(name), func(s string) (string, error) { return s, nil }) {
			return a, false
		}
	}
	return a, true
}

func (a *asked) from(pattern *regexp.Regexp, text string, plain func(string) (string, error)) bool {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for i, name := range pattern.SubexpNames() {
		value, _ := plain(m[i])
		switch name {
		case "parent":
			a.parent = value
		case "since":
			a.since = value
		case "until":
			a.until = value
		}
	}
	return true
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/_sim/") {
		s.mux.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Date", s.opt.Now().UTC().Format(http.TimeFormat))
	route, names := s.find(r)
	record, by := s.findKeyed(r)
	stream := ""
	if route != nil {
		stream = route.stream.Name
	} else if record != nil {
		stream = record.Name
	}
	login := s.loginAt(r)
	key, expired := s.credential(r)
	wait, end := s.counts.begin(key, stream, r.URL.Path, login != nil, w.Header())
	defer end()
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		status := s.spec.ParkStatus
		if status == 0 {
			status = http.StatusTooManyRequests
		}
		reply(w, status, map[string]any{"message": "too many calls"})
		return
	}
	if key == "" && login == nil {
		s.counts.note(func(a *Audit) {
			if expired {
				a.Expired++
			} else {
				a.Anonymous++
			}
		})
		reply(w, http.StatusUnauthorized, map[string]any{"message": "who are you?"})
		return
	}
	if s.fault(w, r, stream) {
		return
	}
	switch {
	case login != nil:
		s.logIn(w, r, login)
	case s.spec.Owner != "" && r.URL.Path == s.spec.Owner:
		answer := map[string]any{}
		set(answer, s.spec.OwnerAt, 4711)
		reply(w, http.StatusOK, answer)
	case record != nil:
		s.serveKeyed(w, record, by)
	case route == nil:
		s.counts.note(func(a *Audit) { a.Unknown = append(a.Unknown, r.Method+" "+r.URL.RequestURI()) })
		reply(w, http.StatusNotFound, map[string]any{"message": "there is no such address"})
	default:
		s.serve(w, r, route, names)
	}
}

func (c *counts) note(fn func(*Audit)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(&c.audit)
}

// find is the route that a request takes: of several the one that knows most of its
// parameters.
func (s *Server) find(r *http.Request) (best *compiled, names asked) {
	for i := range s.routes {
		c := &s.routes[i]
		if a, ok := c.takes(r); ok && (best == nil || len(c.query) > len(best.query)) {
			best, names = c, a
		}
	}
	return best, names
}

// serve answers with a page.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, c *compiled, names asked) {
	s.world.mu.Lock()
	body, status := s.answer(w, r, c, names)
	s.world.mu.Unlock()
	if status != http.StatusOK {
		reply(w, status, map[string]any{"message": "there is no such thing"})
		return
	}
	encode, kind := json.Marshal, "application/json"
	if c.stream.XML {
		encode, kind = xmlOf, "application/xml"
	}
	raw, err := encode(body)
	if err != nil {
		reply(w, http.StatusInternalServerError, map[string]any{"message": err.Error()})
		return
	}
	if c.stream.ETag {
		sum := sha256.Sum256(raw)
		tag := `"` + hex.EncodeToString(sum[:8]) + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			s.counts.note(func(a *Audit) { a.Unchanged++ })
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(raw)
}

// answer makes the body of a page. The world is locked.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, c *compiled, names asked) (any, int) {
	var of *record
	if c.field != "" {
		above := s.world.streams[c.stream.Parent]
		for _, p := range above.all {
			if c.field == above.Key {
				if p.name() == names.parent {
					of = p
				}
			} else if fmt.Sprint(get(s.world.payload(above, p), c.field)) == names.parent {
				of = p
			}
		}
		if of == nil {
			if c.stream.Gone > 0 {
				return nil, c.stream.Gone
			}
			return nil, http.StatusNotFound
		}
	}
	all := s.selected(c, of, names)
	if c.Count.is() {
		body := map[string]any{}
		tell(w, body, c.Count, max(len(all)+s.opt.Miscount, 0))
		return body, http.StatusOK
	}
	if c.One {
		if len(all) == 0 {
			return nil, http.StatusNotFound
		}
		return s.world.payload(c.stream, all[0]), http.StatusOK
	}
	return s.paged(w, r, c, all), http.StatusOK
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
