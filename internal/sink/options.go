package sink

import (
	"net/url"
	"strings"

	"sluice/internal/domain"
)

// Options are what the query of a sink's URL says of what is carried, whatever the
// target is.
type Options struct {
	// WithoutRaw leaves out payloads (raw=false).
	WithoutRaw bool
	// DropDeleted removes rows of what the upstream shows no longer, instead of
	// flagging them (deleted=drop).
	DropDeleted bool
}

// ParseURL reads the URL of a sink, and takes from its query what is for every
// target. Errors never quote it, since it may hold a password.
func ParseURL(raw string) (*url.URL, Options, error) {
	var o Options
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return nil, o, domain.Errorf(domain.CodeInvalid, "the URL of a sink cannot be read; write it as postgres://user@host/database or sqlite:FILE, with what is special in a password as %%XX")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, o, domain.Errorf(domain.CodeInvalid, "what follows the ? in the URL of a sink cannot be read; write it as raw=false&deleted=drop")
	}
	if o.WithoutRaw, err = choice(query, "raw", "true", "false"); err != nil {
		return nil, o, err
	}
	if o.DropDeleted, err = choice(query, "deleted", "keep", "drop"); err != nil {
		return nil, o, err
	}
	u.Scheme = strings.ToLower(u.Scheme)
	u.RawQuery = query.Encode()
	return u, o, nil
}

// choice takes an option that has two values, the first by default, and says whether
// it is the second.
func choice(query url.Values, name, usual, other string) (bool, error) {
	defer query.Del(name)
	switch query.Get(name) {
	case "", usual:
		return false, nil
	case other:
		return true, nil
	}
	return false, domain.Errorf(domain.CodeInvalid, "the option %s of a sink's URL is %s or %s", name, usual, other)
}
