package stats

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sluice/internal/document"
)

// tally counts the documents of one account as they stream past. The order
// within a kind does not matter; repositories must come before the rest, and reviews
// before pull requests.
type tally struct {
	login        string
	repositories map[int64]repository
	languages    map[string]*Language
	calendar     calendar
	forks        forks
	sum          Account
	documents    map[document.Kind]*DocumentCount
	teamwork     teamwork
	// independent says that what is counted now stays when its repository goes.
	independent bool
}

// repository is what its content inherits from a repository.
type repository struct {
	language                string
	external, fork, deleted bool
}

func newTally(login string) *tally {
	return &tally{
		login:        login,
		repositories: map[int64]repository{},
		languages:    map[string]*Language{},
		calendar:     calendar{days: map[int64]int64{}},
		forks:        forks{waiting: map[string]forkedCommit{}},
		documents:    map[document.Kind]*DocumentCount{},
		teamwork:     newTeamwork(),
	}
}

// counter counts documents of a kind by what that is to statistics.
func (t *tally) counter(role document.Role) func(*document.Document) {
	switch role {
	case document.RoleRepository:
		return t.repository
	case document.RoleCommit:
		return t.commit
	case document.RoleIssue:
		return t.issue
	case document.RolePull:
		return t.pull
	case document.RoleReview:
		return t.review
	case document.RoleComment:
		return t.comment
	case document.RoleRelease:
		return t.release
	case document.RoleRun:
		return t.run
	case document.RoleInventory:
	}
	return t.other
}

func (t *tally) repository(d *document.Document) {
	t.repositories[d.Repository] = repository{
		language: languageName(d.Language), external: d.External, fork: d.Fork, deleted: d.Deleted,
	}
	sum := &t.sum.Repositories
	if !t.exists(d) {
		add(&sum.Blocked, !d.External && d.GoneWhy == document.GoneBlocked)
		add(&sum.Forbidden, !d.External && d.GoneWhy == document.GoneForbidden)
		return
	}
	t.forks.known = t.forks.known || d.Fork
	if d.External {
		sum.OfOthers++
		return
	}
	sum.Owned++
	add(&sum.Forks, d.Fork)
	add(&sum.Private, d.Private)
	add(&sum.Archived, d.State == "archived")
	if !d.Fork {
		sum.Stars += d.Stars
	}
	t.language(languageName(d.Language)).Repositories++
}

func (t *tally) commit(d *document.Document) {
	if !t.exists(d) {
		return
	}
	sum := &t.sum.Commits
	sum.Seen++
	add(&sum.Unattributed, d.Author == "")
	if !t.own(d.Author) {
		return
	}
	home := t.home(d)
	if home.fork {
		t.forks.wait(d, home)
		return
	}
	t.forks.exclude(d)
	t.ownCommit(home, contributionOf(d))
}

func (t *tally) ownCommit(home repository, c contribution) {
	sum := &t.sum.Commits
	language := t.language(home.language)
	sum.Own++
	language.Commits++
	add(&sum.ToOthers, home.external)
	add(&sum.InForks, home.fork)
	if c.measured {
		sum.Measured++
		sum.Additions += c.additions
		sum.Deletions += c.deletions
		language.Additions += c.additions
		language.Deletions += c.deletions
	}
	t.activity(language, c.at)
}

func (t *tally) issue(d *document.Document) {
	if !t.exists(d) {
		return
	}
	home := t.home(d)
	sum := &t.sum.Issues
	sum.Seen++
	add(&sum.Solved, t.solved(d, home))
	if t.own(d.Author) {
		sum.Opened++
		add(&sum.OpenedToOthers, home.external)
		t.activity(t.language(home.language), d.CreatedAt)
	}
}

// solved reports whether a closed issue is to the account's credit. Listings
// often leave out who closed an issue; its repository's owner gets the credit
// then.
func (t *tally) solved(d *document.Document, home repository) bool {
	switch {
	case d.State != "closed":
		return false
	case d.ClosedBy != "":
		return t.own(d.ClosedBy)
	}
	return !home.external
}

func (t *tally) pull(d *document.Document) {
	if !t.exists(d) {
		return
	}
	sum := &t.sum.Pulls
	sum.Seen++
	t.teamwork.reviewed(d)
	if !t.own(d.Author) {
		return
	}
	home := t.home(d)
	language := t.language(home.language)
	sum.Opened++
	add(&sum.OpenedToOthers, home.external)
	t.activity(language, d.CreatedAt)
	if !d.MergedAt.IsZero() {
		sum.Merged++
		add(&sum.MergedToOthers, home.external)
		t.activity(language, d.MergedAt)
	}
}

// other counts documents that are in no figure but the inventory.
func (t *tally) other(d *document.Document) { t.exists(d) }

// exists enters a document in the inventory and reports whether it still
// exists upstream: neither it nor its repository is gone.
func (t *tally) exists(d *document.Document) bool {
	n := t.documents[d.Kind]
	if n == nil {
		n = &DocumentCount{}
		t.documents[d.Kind] = n
	}
	n.Stored++
	add(&n.Truncated, d.Truncated)
	deleted := t.deleted(d)
	add(&n.Deleted, deleted)
	return !deleted
}

func (t *tally) deleted(d *document.Document) bool {
	return d.Deleted || !t.independent && t.repositories[d.Repository].deleted
}

// home returns what a document has from its repository. The repository's own
// document is the newest word; without one, what the document inherited when
// it was fetched stands, and it is in no fork.
func (t *tally) home(d *document.Document) repository {
	if r, ok := t.repositories[d.Repository]; ok {
		return r
	}
	return repository{language: languageName(d.Language), external: d.External}
}

func (t *tally) own(login string) bool { return login != "" && strings.EqualFold(login, t.login) }

func (t *tally) language(name string) *Language {
	l := t.languages[name]
	if l == nil {
		l = &Language{Name: name}
		t.languages[name] = l
	}
	return l
}

func (t *tally) activity(l *Language, at time.Time) {
	l.Activities++
	t.calendar.add(at)
}

func (t *tally) result(asOf time.Time) Account {
	t.forks.settle(t.ownCommit)
	a := t.sum
	a.AsOf = asOf
	a.OthersCollected = a.Repositories.OfOthers+a.Commits.ToOthers+a.Issues.OpenedToOthers+a.Pulls.OpenedToOthers > 0
	a.Activity = t.calendar.activity(asOf)
	a.Languages = inOrder(t.languages)
	a.Teamwork = t.teamwork.result()
	for _, l := range a.Languages {
		// Languages also count what has no usable date.
		a.Activity.Total += l.Activities
	}
	a.Documents = make(map[document.Kind]DocumentCount, len(t.documents))
	for kind, n := range t.documents {
		a.Documents[kind] = *n
	}
	return a
}

// inOrder lists languages, the busiest first, then by name.
func inOrder(languages map[string]*Language) []Language {
	list := make([]Language, 0, len(languages))
	for _, l := range languages {
		list = append(list, *l)
	}
	slices.SortFunc(list, func(a, b Language) int {
		return cmp.Or(cmp.Compare(b.Activities, a.Activities), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func languageName(name string) string { return cmp.Or(name, UnknownLanguage) }

func add(n *int64, yes bool) {
	if yes {
		*n++
	}
}
