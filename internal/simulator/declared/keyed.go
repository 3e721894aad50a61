package declared

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Keyed is a kind of records that are asked for by key.
type Keyed struct {
	Name string
	// Path and Query are how one is asked for: with {key}, or with {FIELD} where it is
	// named by what another kind tells of it.
	Path  string
	Query map[string]string
	// Keep are the paths that matter, each of a text; all of the answer if empty.
	Keep []string
	// Tells are those of them by which others name the same thing.
	Tells []string
}

// thing is what a key names. Its turns grow with every change, by kind; its names for
// other kinds are others with every renewal.
type thing struct {
	key     string
	turns   map[string]int
	renewed int
}

// keyedRoute is how records of a kind are asked for.
type keyedRoute struct {
	*Keyed
	path  *regexp.Regexp
	query map[string]*regexp.Regexp
}

func compileKeyed(k *Keyed) (r keyedRoute, err error) {
	r = keyedRoute{Keyed: k, query: map[string]*regexp.Regexp{}}
	if r.path, err = namedHoles(k.Path, "[^/]+"); err != nil {
		return r, err
	}
	for name, value := range k.Query {
		if r.query[name], err = namedHoles(value, ".+"); err != nil {
			return r, err
		}
	}
	return r, nil
}

func namedHoles(text, hole string) (*regexp.Regexp, error) {
	var pattern strings.Builder
	last := 0
	for _, at := range holes.FindAllStringSubmatchIndex(text, -1) {
		pattern.WriteString(regexp.QuoteMeta(text[last:at[0]]) + "(?P<" + text[at[2]:at[3]] + ">" + hole + ")")
		last = at[1]
	}
	return regexp.Compile("^" + pattern.String() + regexp.QuoteMeta(text[last:]) + "$")
}

// takes says whether a request asks for a record of the kind, and what it names it by.
func (k *keyedRoute) takes(r *http.Request) (by map[string]string, ok bool) {
	by = map[string]string{}
	read := func(pattern *regexp.Regexp, text string) bool {
		m := pattern.FindStringSubmatch(text)
		for i, name := range pattern.SubexpNames() {
			if m != nil && name != "" {
				by[name] = m[i]
			}
		}
		return m != nil
	}
	path, err := url.PathUnescape(r.URL.EscapedPath())
	if err != nil || r.Method != http.MethodGet || !read(k.path, path) {
		return nil, false
	}
	query := r.URL.Query()
	for name, pattern := range k.query {
		if !query.Has(name) || !read(pattern, query.Get(name)) {
			return nil, false
		}
	}
	return by, true
}

func (s *Server) findKeyed(r *http.Request) (*keyedRoute, map[string]string) {
	for i := range s.keyed {
		if by, ok := s.keyed[i].takes(r); ok {
			return &s.keyed[i], by
		}
	}
	return nil, nil
}

// serveKeyed answers with the record that a request names.
func (s *Server) serveKeyed(w http.ResponseWriter, k *keyedRoute, by map[string]string) {
	s.world.mu.Lock()
	var value map[string]any
	for _, t := range s.world.things {
		if t.named(by) {
			value = s.world.valueOf(k.Keyed, t)
			if len(k.Keep) > 0 {
				// What is not kept changes all the time.
				value["told"] = s.opt.Now().Format(time.RFC3339Nano)
			}
			break
		}
	}
	s.world.mu.Unlock()
	if value == nil {
		s.refuse(w, http.StatusNotFound, "UNKNOWN")
		return
	}
	reply(w, http.StatusOK, value)
}

// refuse answers with an error as the upstream writes them.
func (s *Server) refuse(w http.ResponseWriter, status int, code string) {
	body := map[string]any{"message": "ordered"}
	if s.spec.ErrorAt != "" {
		set(body, s.spec.ErrorAt, code)
	}
	reply(w, status, body)
}

func (t *thing) named(by map[string]string) bool {
	for name, value := range by {
		if name == "key" && value != t.key || name != "key" && value != t.told(name) {
			return false
		}
	}
	return len(by) > 0
}

// told is what another kind tells of a thing.
func (t *thing) told(field string) string {
	sum := sha256.Sum256([]byte(field + t.key + strconv.Itoa(t.renewed)))
	return hex.EncodeToString(sum[:12])
}

// valueOf is what matters of a record. The world is locked.
func (w *world) valueOf(k *Keyed, t *thing) map[string]any {
	value := map[string]any{}
	for _, path := range k.Keep {
		set(value, path, fmt.Sprintf("%s of %s, %d", path, t.key, t.turns[k.Name]))
	}
	for _, field := range k.Tells {
		set(value, field, t.told(field))
	}
	if len(k.Keep) == 0 {
		set(value, "value", fmt.Sprintf("%s of %s, %d", k.Name, t.key, t.turns[k.Name]))
	}
	return value
}

// grown are the things that keys name.
func grown(spec *Spec, n int) (all []*thing) {
	if len(spec.Keyed) == 0 {
		return nil
	}
	for i := range n {
		all = append(all, &thing{key: fmt.Sprintf("key-%d", i+1), turns: map[string]int{}})
	}
	return all
}

// mutateKeyed changes values, and gives things other names. The world is locked.
func (w *world) mutateKeyed(m Mutation) {
	if len(w.things) == 0 {
		return
	}
	for range m.Change {
		w.things[w.random.IntN(len(w.things))].turns[w.spec.Keyed[w.random.IntN(len(w.spec.Keyed))].Name]++
	}
	for range m.Renew {
		w.things[w.random.IntN(len(w.things))].renewed++
	}
}

// truthOfKeyed is what must be kept, by kind and key. The world is locked.
func (w *world) truthOfKeyed() map[string]map[string]json.RawMessage {
	all := map[string]map[string]json.RawMessage{}
	for i := range w.spec.Keyed {
		k := &w.spec.Keyed[i]
		all[k.Name] = map[string]json.RawMessage{}
		for _, t := range w.things {
			raw, _ := json.Marshal(w.valueOf(k, t))
			all[k.Name][t.key] = raw
		}
	}
	return all
}
