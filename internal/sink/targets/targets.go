// Package targets opens the targets of sinks by their URLs. It is the one place that
// knows them all.
package targets

import (
	"net/url"
	"slices"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/sink"
	"sluice/internal/sink/database"
)

// kind is one kind of targets.
type kind struct {
	name    string
	schemes []string
	// example is shown to whoever wrote another URL.
	example string
	// open reads the URL and connects to nothing: Prepare does. What it does not
	// know of the URL is an error of code invalid, which quotes no secret.
	open func(u *url.URL) (sink.Target, error)
}

// kinds are all targets: another one is a line here.
var kinds = []kind{
	{"postgres", []string{"postgres", "postgresql"}, "postgres://user@host/database", database.Postgres},
	{"mysql", []string{"mysql", "mariadb"}, "mysql://user@host/database", database.MySQL},
	{"sqlite", []string{"sqlite"}, "sqlite:FILE", database.SQLite},
}

// Opened is a target, and what its URL says beside where it is.
type Opened struct {
	sink.Target
	// Kind is what kind of target it is.
	Kind string
	sink.Options
}

// Open reads the URL of a target. The target connects when it is prepared.
func Open(raw string) (*Opened, error) {
	u, o, err := sink.ParseURL(raw)
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		if slices.Contains(k.schemes, u.Scheme) {
			target, err := k.open(u)
			if err != nil {
				return nil, err
			}
			return &Opened{Target: target, Kind: k.name, Options: o}, nil
		}
	}
	return nil, domain.Errorf(domain.CodeInvalid, "there is no sink for URLs that begin with %s: ; write one of %s", u.Scheme, strings.Join(Examples(), ", "))
}

// Examples are URLs, one for each kind of targets.
func Examples() []string {
	var all []string
	for _, k := range kinds {
		all = append(all, k.example)
	}
	return all
}
