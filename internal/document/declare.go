package document

import (
	"slices"

	"sluice/internal/domain"
)

// Declaration is what a source declares of one kind of documents. Stores,
// exports, statistics and the API go by it: none of them knows a kind by its
// name.
type Declaration struct {
	Kind Kind
	// Source is whose kind it is.
	Source string
	// Plural is what a table of it is called, and how people ask for it.
	Plural string
	// Doc says in one line what it is.
	Doc string
	// Container says that things of other kinds lie in it: what has the same
	// Repository goes and comes back with it.
	Container bool
	// Independent says that it is the account's: it stays when the container that
	// it names goes, and no listing of that container proves its absence.
	Independent bool
	// CountedAs is what it is to statistics.
	CountedAs Role
	// Columns are those of its table, in their order; a kind without any has no
	// table.
	Columns []Column
	// Labels is the column, a list, by which a list of documents is restricted to
	// those with a label; "" if there is none.
	Labels string
	// Read sets the values of the kind's own that a payload holds, as the upstream
	// gave it: when it is collected, and for what was stored before a column was
	// declared. What a payload does not have stays as it is.
	Read func(raw []byte, f *Fields)
}

// Role is what a kind is to statistics, whatever its source calls it.
type Role string

// The roles. A kind without one is in the inventory alone.
const (
	RoleInventory  Role = ""
	RoleRepository Role = "repository"
	RoleCommit     Role = "commit"
	RoleIssue      Role = "issue"
	RolePull       Role = "pull"
	RoleReview     Role = "review"
	RoleComment    Role = "comment"
	RoleRelease    Role = "release"
	RoleRun        Role = "run"
)

// Kinds are the declarations of all sources that there are.
type Kinds []Declaration

// Of returns the declaration of a kind, nil if there is none.
func (k Kinds) Of(kind Kind) *Declaration {
	for i := range k {
		if k[i].Kind == kind {
			return &k[i]
		}
	}
	return nil
}

// Table returns the kind whose table has a name, nil if there is none.
func (k Kinds) Table(plural string) *Declaration {
	for i := range k {
		if k[i].Plural == plural && len(k[i].Columns) > 0 {
			return &k[i]
		}
	}
	return nil
}

// Tables lists the names of all tables.
func (k Kinds) Tables() []string {
	var names []string
	for i := range k {
		if len(k[i].Columns) > 0 {
			names = append(names, k[i].Plural)
		}
	}
	return names
}

// OfSource are the kinds of one source, containers first: what is in them
// inherits from them.
func (k Kinds) OfSource(source string) Kinds {
	var first, rest Kinds
	for i := range k {
		switch {
		case k[i].Source != source:
		case k[i].Container:
			first = append(first, k[i])
		default:
			rest = append(rest, k[i])
		}
	}
	return append(first, rest...)
}

// Containers are the kinds that things of other kinds lie in.
func (k Kinds) Containers() []Kind {
	var kinds []Kind
	for i := range k {
		if k[i].Container {
			kinds = append(kinds, k[i].Kind)
		}
	}
	return kinds
}

// Check refuses kinds that are declared twice, or not whole.
func (k Kinds) Check() error {
	for i := range k {
		d := &k[i]
		same := func(o Declaration) bool { return o.Kind == d.Kind || o.Plural == d.Plural }
		if d.Kind == "" || d.Plural == "" || d.Source == "" {
			return domain.Errorf(domain.CodeInvalid, "a kind of documents needs a name, a plural and a source; got %q, %q and %q", d.Kind, d.Plural, d.Source)
		}
		if slices.IndexFunc(k, same) != i {
			return domain.Errorf(domain.CodeInvalid, "the kind %s (%s) of %s is declared twice", d.Kind, d.Plural, d.Source)
		}
		if err := checkColumns(d.Columns); err != nil {
			return domain.Errorf(domain.CodeInvalid, "the kind %s of %s: %w", d.Kind, d.Source, err)
		}
		if d.Labels != "" && !slices.ContainsFunc(d.Columns, func(c Column) bool { return c.Name == d.Labels && c.Type == TypeList }) {
			return domain.Errorf(domain.CodeInvalid, "the labels of the kind %s of %s are in %q, which is no column of lists", d.Kind, d.Source, d.Labels)
		}
	}
	return k.checkOwn()
}

// Independent reports whether a kind is the account's.
func (k Kinds) Independent(kind Kind) bool {
	d := k.Of(kind)
	return d != nil && d.Independent
}

// CheckAbsences checks several absences, also by what their kinds allow.
func (k Kinds) CheckAbsences(absences []Absence) error {
	for i := range absences {
		a := &absences[i]
		if err := a.Check(); err != nil {
			return err
		}
		if k.Independent(a.Kind) {
			return domain.Errorf(domain.CodeInvalid, "%s are the account's and stay when their repository goes; got %+v", k.Of(a.Kind).Plural, *a)
		}
	}
	return nil
}

// SetGone sets what a document says of its absence: its own, or else that of its
// repository. SeenAt must be set.
func (k Kinds) SetGone(d *Document, own, repository Mark) {
	if k.Independent(d.Kind) {
		repository = Mark{}
	}
	d.setGone(own, repository)
}

// Sightings lists the containers among documents, each once, in order.
func (k Kinds) Sightings(docs []Document) []Sighting {
	var seen []Sighting
	places := map[[2]int64]int{}
	containers := k.Containers()
	for i := range docs {
		d := &docs[i]
		if !slices.Contains(containers, d.Kind) || d.Repository == 0 || d.SeenAt.IsZero() {
			continue
		}
		id := [2]int64{d.Account, d.Repository}
		if k, twice := places[id]; !twice {
			places[id] = len(seen)
			seen = append(seen, Sighting{d.Account, d.Repository, d.SeenAt})
		} else if d.SeenAt.After(seen[k].At) {
			seen[k].At = d.SeenAt
		}
	}
	return seen
}
