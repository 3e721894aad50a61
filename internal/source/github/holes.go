package github

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// graphError is one member of a GraphQL answer's errors.
type graphError struct {
	kind, code, message string
	// path names what the error left unknown: field names and positions.
	path []string
}

// isNotFound reports whether the thing asked for is not there.
func (e graphError) isNotFound() bool { return e.kind == "NOT_FOUND" }

// isForbidden reports whether asking again with the same token is pointless.
func (e graphError) isForbidden() bool {
	return e.kind == "FORBIDDEN" || e.kind == "INSUFFICIENT_SCOPES"
}

func (e graphError) isRateLimit() bool {
	return e.kind == "RATE_LIMITED" || e.kind == "RATE_LIMIT"
}

// isSchema reports whether this GitHub does not know what the query asks for,
// as an older Enterprise Server may not.
func (e graphError) isSchema() bool {
	switch e.code {
	case "undefinedField", "undefinedType", "argumentNotAccepted":
		return true
	}
	return strings.Contains(e.message, "doesn't exist on type") || strings.Contains(e.message, "doesn't accept argument")
}

// isHeavy reports whether less might have been answered.
func (e graphError) isHeavy() bool {
	low := strings.ToLower(e.message)
	return e.kind == "" && (strings.Contains(low, "something went wrong") || strings.Contains(low, "timeout") || strings.Contains(low, "timed out"))
}

func graphErrors(list gjson.Result) []graphError {
	var errs []graphError
	list.ForEach(func(_, e gjson.Result) bool {
		one := graphError{
			kind: e.Get("type").String(), code: e.Get("extensions.code").String(),
			message: shorten(e.Get("message").String(), 200),
		}
		e.Get("path").ForEach(func(_, step gjson.Result) bool {
			one.path = append(one.path, step.String())
			return true
		})
		errs = append(errs, one)
		return true
	})
	return errs
}

// holes are what the errors of a GraphQL answer say about one place of it. A
// null there is unknown, not nothing, and so is whatever a path leads through:
// null climbs up from a field that cannot be null.
type holes []graphError

// at narrows to a place below: the errors that lead to it, through it or end
// above it, with paths that begin there.
func (h holes) at(path ...string) holes {
	var below holes
	for _, e := range h {
		n := min(len(e.path), len(path))
		if slices.Equal(e.path[:n], path[:n]) {
			e.path = e.path[n:]
			below = append(below, e)
		}
	}
	return below
}

// node narrows to one element of a list.
func (h holes) node(list string, i int) holes {
	if len(h) == 0 {
		return nil
	}
	if list == "" {
		return h.at(strconv.Itoa(i))
	}
	return h.at(list, "nodes", strconv.Itoa(i))
}

// outside lists the errors about a connection that do not lead to one of its
// nodes: they leave the page as a whole unknown.
func (h holes) outside(nodes string) holes {
	var rest holes
	for _, e := range h {
		if len(e.path) < 2 || e.path[0] != nodes {
			rest = append(rest, e)
		}
	}
	return rest
}

// hidden reports whether nothing but a missing permission is to blame: asking
// again would not help.
func (h holes) hidden() bool {
	return len(h) > 0 && !slices.ContainsFunc(h, func(e graphError) bool { return !e.isNotFound() && !e.isForbidden() })
}

func (h holes) forbidden() (graphError, bool) {
	if i := slices.IndexFunc(h, graphError.isForbidden); i >= 0 {
		return h[i], true
	}
	return graphError{}, false
}
