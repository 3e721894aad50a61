package github

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Partial says which parts of a GraphQL answer are null, and how the errors
// member words it. GitHub answers so when a part takes too long or may not be
// seen: null then means unknown, not none.
type Partial struct {
	// Path names places below data: keys and indexes joined by dots. A * stands
	// for one step and ** for any number of them, as in
	// "user.repositories.nodes.2.issues" or "**.nodes.*.defaultBranchRef".
	Path string `json:"path"`
	// Nth chooses one of several places, modulo their number.
	Nth int  `json:"nth"`
	All bool `json:"all"` // or all of them

	Type    string `json:"type"`    // such as NOT_FOUND; empty for a timeout, as on GitHub
	Message string `json:"message"` // empty: a timeout's
	NoPath  bool   `json:"no_path"` // the error does not say what is missing
	// Deeper lets the error's path go on below what is null, as when null climbs
	// up from a field that the schema says cannot be null.
	Deeper bool `json:"deeper"`

	accept func(place) bool // of nasty mode, instead of Path
}

// place is a value of an answer that is not null.
type place struct {
	path  []any
	value any
	holds func(replacement any) // puts another value there
}

// apply nulls what it matches; false leaves the answer as it was.
func (p *Partial) apply(out *buffer) bool {
	answer, ok := decodeAnswer(out.b)
	data, _ := answer["data"].(map[string]any)
	if !ok || data == nil {
		return false
	}
	var found []place
	visit(data, nil, func(at place) {
		if p.matches(at) {
			found = append(found, at)
		}
	})
	if len(found) == 0 {
		return false
	}
	if !p.All {
		found = found[p.Nth%len(found):][:1]
	}
	errs, _ := answer["errors"].([]any)
	for _, at := range found {
		at.holds(nil)
		errs = append(errs, p.entry(at))
	}
	answer["errors"] = errs
	return encodeAnswer(out, answer)
}

func (p *Partial) matches(at place) bool {
	if at.path[0] == "rateLimit" {
		return false
	}
	if p.accept != nil {
		return p.accept(at)
	}
	return matchesPath(strings.Split(p.Path, "."), at.path)
}

// entry is the error that reports a place.
func (p *Partial) entry(at place) map[string]any {
	e := map[string]any{"message": p.Message}
	if p.Message == "" {
		e["message"] = wentWrong
	}
	if p.Type != "" {
		e["type"] = p.Type
	}
	if p.NoPath {
		return e
	}
	path := slices.Clone(at.path)
	if inner, ok := at.value.(map[string]any); p.Deeper && ok && len(inner) > 0 {
		path = append(path, slices.Sorted(maps.Keys(inner))[0])
	}
	e["path"] = path
	return e
}

// visit walks over everything below data that is not null, in a fixed order.
func visit(value any, path []any, tell func(place)) {
	step := func(key, child any, holds func(any)) {
		if child == nil {
			return
		}
		at := place{path: append(slices.Clone(path), key), value: child, holds: holds}
		tell(at)
		visit(child, at.path, tell)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			step(key, v[key], func(r any) { v[key] = r })
		}
	case []any:
		for i := range v {
			step(i, v[i], func(r any) { v[i] = r })
		}
	}
}

func matchesPath(pattern []string, path []any) bool {
	if len(pattern) == 0 {
		return len(path) == 0
	}
	if pattern[0] == "**" {
		for skip := range len(path) + 1 {
			if matchesPath(pattern[1:], path[skip:]) {
				return true
			}
		}
		return false
	}
	if len(path) == 0 || pattern[0] != "*" && pattern[0] != stepName(path[0]) {
		return false
	}
	return matchesPath(pattern[1:], path[1:])
}

func stepName(step any) string {
	if i, ok := step.(int); ok {
		return strconv.Itoa(i)
	}
	name, _ := step.(string)
	return name
}

func decodeAnswer(body []byte) (map[string]any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var answer map[string]any
	return answer, decoder.Decode(&answer) == nil
}

func encodeAnswer(out *buffer, answer map[string]any) bool {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(answer) != nil {
		return false
	}
	out.b = append(out.b[:0], bytes.TrimSpace(encoded.Bytes())...)
	return true
}

// The places that nasty mode makes null.

func isNode(at place) bool {
	_, object := at.value.(map[string]any)
	n := len(at.path)
	if !object || n < 2 {
		return false
	}
	_, listed := at.path[n-1].(int)
	return listed && at.path[n-2] == "nodes" || at.path[n-1] == "node"
}

func isConnection(at place) bool {
	object, ok := at.value.(map[string]any)
	if !ok {
		return false
	}
	for _, member := range []string{"nodes", "edges", "totalCount", "pageInfo"} {
		if _, has := object[member]; has {
			return true
		}
	}
	return false
}

// isField is a member of a node: an object, a list or a plain value.
func isField(at place) bool {
	for i, step := range at.path[:len(at.path)-1] {
		_, listed := step.(int)
		if listed && i > 0 && at.path[i-1] == "nodes" {
			_, index := at.path[len(at.path)-1].(int)
			return !index
		}
	}
	return false
}

func isAlias(at place) bool { return len(at.path) == 1 }

func isObject(at place) bool {
	_, ok := at.value.(map[string]any)
	return ok
}
