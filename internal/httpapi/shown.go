package httpapi

import (
	"strings"

	"sluice/internal/secret"
)

// unnamed stands in a problem for what a caller sent and may be a secret.
const unnamed = "(not shown)"

// shownName is something that a caller sent as a name, such as the id in a path: it is
// repeated to him if it looks like a name, and not like a token.
func shownName(text string) string {
	if secret.Name(text) {
		return text
	}
	return unnamed
}

// shownPath is a path with the segments that look like names.
func shownPath(path string) string {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, segment := range segments {
		if segment != "" {
			segments[i] = shownName(segment)
		}
	}
	return "/" + strings.Join(segments, "/")
}

// shownLocation is where a mistake is. The last words of it may be the caller's: the
// name of a member or of a parameter that is not known.
func shownLocation(location string) string {
	parts := strings.Split(location, ".")
	for i, part := range parts {
		name, index, indexed := strings.Cut(part, "[")
		if name != "" && !secret.Name(name) || indexed && strings.Trim(index, "0123456789[]") != "" {
			return strings.Join(append(parts[:i:i], unnamed), ".")
		}
	}
	return location
}

// shownMessage is what the decoders say of a value, without the value; what rules say
// of a schedule or of hours has it, unless it looks like a token.
func shownMessage(message string) string {
	switch {
	case strings.HasPrefix(message, "unknown content type"):
		return "the content type is not one that is taken here; send application/json"
	case strings.HasPrefix(message, "parsing time "):
		return "expected an instant as RFC 3339 has it, such as 2026-10-17T12:00:00Z"
	}
	return secret.Masked(message)
}
