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

// Kind is one kind of targets.
type Kind struct {
	Name    string
	Schemes []string
	// Example is shown to whoever wrote another URL.
	Example string
	// DropsDeleted says that what the upstream shows no longer is removed unless the
	// URL says deleted=keep.
	DropsDeleted bool
	// Open reads the URL and connects to nothing: Prepare does. What it does not
	// know of the URL is an error of code invalid, which quotes no secret.
	Open func(u *url.URL) (sink.Target, error)
}

// kinds are the targets that need nothing but their URL; those that need other parts of
// the program are handed to Open by wiring.
var kinds = []Kind{
	{Name: "postgres", Schemes: []string{"postgres", "postgresql"}, Example: "postgres://user@host/database", Open: database.Postgres},
	{Name: "mysql", Schemes: []string{"mysql", "mariadb"}, Example: "mysql://user@host/database", Open: database.MySQL},
	{Name: "sqlite", Schemes: []string{"sqlite"}, Example: "sqlite:FILE", Open: database.SQLite},
}

// Opened is a target, and what its URL says beside where it is.
type Opened struct {
	sink.Target
	// Kind is what kind of target it is.
	Kind string
	sink.Options
}

// Open reads the URL of a target of one of these kinds, or of more. The target connects
// when it is prepared.
func Open(raw string, more ...Kind) (*Opened, error) {
	u, o, err := sink.ParseURL(raw)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(kinds, more)
	for _, k := range all {
		if !slices.Contains(k.Schemes, u.Scheme) {
			continue
		}
		target, err := k.Open(u)
		if err != nil {
			return nil, err
		}
		o.DropDeleted = o.DropDeleted || k.DropsDeleted && !says(raw, "deleted")
		return &Opened{Target: target, Kind: k.Name, Options: o}, nil
	}
	var examples []string
	for _, k := range all {
		examples = append(examples, k.Example)
	}
	return nil, domain.Errorf(domain.CodeInvalid, "there is no sink for URLs that begin with %s: ; write one of %s", u.Scheme, strings.Join(examples, ", "))
}

// says says whether a URL has an option.
func says(raw, option string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Query().Has(option)
}
