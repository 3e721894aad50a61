package github

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// Truth is what a complete collection of an account with its own token, or of one
// repository (owner/name) with its owner's, must contain. Of a repository that is
// collected alone there is no profile. A repository that is gone is listed and marked with the reason, but
// holds nothing a collection could be asked for.
type Truth struct {
	Profile      TruthProfile      `json:"profile"`
	Repositories []TruthRepository `json:"repositories"`
	Events       []string          `json:"events"`
	// Members and Teams are an organisation's, as its members see them.
	Members []TruthMember `json:"members,omitempty"`
	Teams   []TruthTeam   `json:"teams,omitempty"`
}

// TruthProfile identifies the account.
type TruthProfile struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
}

// TruthRepository is one repository with all it holds.
type TruthRepository struct {
	ID             int64       `json:"id"`
	Name           string      `json:"name"`
	FullName       string      `json:"full_name"`
	Fork           bool        `json:"fork"`
	Private        bool        `json:"private"`
	Stars          int64       `json:"stars"`
	Language       string      `json:"language"`
	Empty          bool        `json:"empty"`
	IssuesDisabled bool        `json:"issues_disabled"`
	Deleted        bool        `json:"deleted"`
	Blocked        bool        `json:"blocked"`
	Gone           string      `json:"gone,omitempty"` // why, empty while it is there
	GoneSince      *time.Time  `json:"gone_since,omitempty"`
	MovedTo        string      `json:"moved_to,omitempty"` // of a transferred one, its name there
	Lost           []TruthLost `json:"lost,omitempty"`     // what it once held
	// Parts are the smaller things that it holds, by kind.
	Parts   map[string][]TruthPart `json:"parts,omitempty"`
	Commits []TruthCommit          `json:"commits"`
	Issues  []TruthItem            `json:"issues"`
	Pulls   []TruthItem            `json:"pulls"`
}

// TruthLost is something a repository held and no longer holds. What a gone
// repository held is not listed one by one.
type TruthLost struct {
	Kind   string    `json:"kind"` // commit, issue or pull
	SHA    string    `json:"sha,omitempty"`
	ID     int64     `json:"id,omitempty"`
	Number int       `json:"number,omitempty"`
	Why    string    `json:"why"`
	Since  time.Time `json:"since"`
}

// TruthCommit is one commit of the default branch.
type TruthCommit struct {
	SHA         string    `json:"sha"`
	CommittedAt time.Time `json:"committed_at"`
	Additions   int64     `json:"additions"`
	Deletions   int64     `json:"deletions"`
	AuthorLogin string    `json:"author_login,omitempty"`
}

// TruthItem is an issue or a pull request; ID is the one its own listing shows.
type TruthItem struct {
	Number      int        `json:"number"`
	ID          int64      `json:"id"`
	State       string     `json:"state"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	ClosedAt    *time.Time `json:"closed_at"`
	MergedAt    *time.Time `json:"merged_at,omitempty"`
	AuthorLogin string     `json:"author_login,omitempty"`
}

// Truth gives the truth as of an instant; the zero time means now. Whatever did
// not exist then is absent, whatever changed later is as it was; only names are
// always those of now.
func (s *Server) Truth(login string, at time.Time) (Truth, error) {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	subject, ok := s.world.subjectCalled(login)
	if !ok {
		return Truth{}, fmt.Errorf("account %s does not exist", login)
	}
	when := truthInstant(at)
	t := s.world.truthHead(subject, when)
	for _, r := range subject.repos {
		out, ok := r.truth(subject.eyes(r, when), when)
		if !ok {
			continue
		}
		if out.holds() {
			out.Lost = s.world.truthLost(r, when)
			out.Parts = s.world.truthParts(r, when)
			out.Commits = slices.Collect(s.world.truthCommits(r, 0, r.serials(), when))
			out.Issues = slices.Collect(s.world.truthItems(r, 1, r.lastNumber(), false, when))
			out.Pulls = slices.Collect(s.world.truthItems(r, 1, r.lastNumber(), true, when))
		}
		t.Repositories = append(t.Repositories, out)
	}
	return t, nil
}

// truthSubject is what a truth is about: an account, or one repository.
type truthSubject struct {
	account int // -1 if it is a repository alone
	repos   []*repo
}

// eyes is the account that a repository is looked at from: one that is collected
// by itself goes with its owner.
func (t *truthSubject) eyes(r *repo, at int64) int {
	if t.account < 0 {
		return r.ownerAt(at).account
	}
	return t.account
}

// subjectCalled finds an account by its login or a repository by its full name,
// also by a former one.
func (w *world) subjectCalled(name string) (truthSubject, bool) {
	if owner, repository, ok := strings.Cut(name, "/"); ok {
		r, found := w.repoByName(owner, repository)
		return truthSubject{account: -1, repos: []*repo{r}}, found
	}
	a, ok := w.accountByLogin(name)
	if !ok {
		return truthSubject{}, false
	}
	return truthSubject{account: a, repos: w.everOwned(a)}, true
}

// truthHead is a truth without repositories.
func (w *world) truthHead(t truthSubject, at int64) Truth {
	if t.account < 0 {
		return Truth{Events: []string{}}
	}
	head := Truth{Profile: TruthProfile{ID: accountIDBase + int64(t.account), Login: w.login(t.account)}, Events: w.eventIDs(t.account, at)}
	head.Members, head.Teams = w.truthMembers(t.account)
	return head
}

func truthInstant(at time.Time) int64 {
	if at.IsZero() {
		return latest
	}
	return at.Unix()
}

func (t *TruthRepository) holds() bool { return t.Gone == "" }

// truth describes a repository in the eyes of an account, without its contents;
// false when the account had never owned it by then.
func (r *repo) truth(account int, at int64) (TruthRepository, bool) {
	stars := r.stars
	for _, when := range r.overlay.stars {
		if when > at {
			stars--
		}
	}
	out := TruthRepository{
		ID: r.id, Name: r.name, FullName: r.fullName(), Fork: r.fork, Private: r.privateAt(at),
		Stars: stars, Language: r.language, IssuesDisabled: r.issuesDisabled, Empty: r.emptyAt(at),
	}
	if why, since := r.goneAt(account, at); why != "" {
		out.Gone, out.GoneSince = why, utcOrNil(since)
		out.Deleted, out.Blocked = why == GoneDeleted, why == GoneBlocked
		if why == GoneTransferred {
			out.MovedTo = r.fullName()
		}
	}
	return out, r.created <= at && r.ownedBy(account, at)
}

// ownedBy tells whether an account had ever owned the repository by an instant.
func (r *repo) ownedBy(account int, at int64) bool {
	for _, o := range r.overlay.owners {
		if o.owner.account == account && o.since <= at {
			return true
		}
	}
	return account == r.birth
}

// goneAt says why an account could no longer have the repository at an instant.
func (r *repo) goneAt(account int, at int64) (why string, since int64) {
	if r.ownerAt(at).account != account {
		for _, o := range r.overlay.owners {
			if o.since <= at && o.owner.account != account {
				since = o.since
			}
		}
		return GoneTransferred, since
	}
	span, _ := r.overlay.gone.at(at)
	return span.why, span.from
}

func (r *repo) emptyAt(at int64) bool {
	for serial := range r.serials() {
		if r.hasCommitAt(serial, at) {
			return false
		}
	}
	return true
}

// truthLost lists what was taken out of a repository, in a fixed order.
func (w *world) truthLost(r *repo, at int64) []TruthLost {
	var out []TruthLost
	for _, serial := range slices.Sorted(maps.Keys(r.overlay.dropped)) {
		if span, gone := r.overlay.dropped[serial].at(at); gone {
			out = append(out, TruthLost{Kind: "commit", SHA: shaOf(r.key, serial), Why: span.why, Since: utc(span.from)})
		}
	}
	for _, number := range slices.Sorted(maps.Keys(r.overlay.removed)) {
		span, gone := r.overlay.removed[number].at(at)
		if !gone {
			continue
		}
		it := r.original(number)
		lost := TruthLost{Kind: "issue", ID: it.id(), Number: number, Why: span.why, Since: utc(span.from)}
		if it.pull {
			lost.Kind, lost.ID = "pull", it.pullID()
		}
		out = append(out, lost)
	}
	return out
}

// truthCommits yields the commits with serials of [from, to), which are in order
// of age unless a late merge brought old ones.
func (w *world) truthCommits(r *repo, from, to int, at int64) iter.Seq[TruthCommit] {
	return func(yield func(TruthCommit) bool) {
		for serial := from; serial < to; serial++ {
			if !r.hasCommitAt(serial, at) {
				continue
			}
			c := w.commit(r, serial)
			if !yield(TruthCommit{SHA: c.sha, CommittedAt: utc(c.committed), Additions: c.additions, Deletions: c.deletions, AuthorLogin: c.author.login}) {
				return
			}
		}
	}
}

// truthItems yields the issues or the pull requests numbered from first to last.
func (w *world) truthItems(r *repo, first, last int, pulls bool, at int64) iter.Seq[TruthItem] {
	return func(yield func(TruthItem) bool) {
		for number := first; number <= last; number++ {
			it, there := r.itemAt(number, at)
			if !there || it.pull != pulls {
				continue
			}
			if !yield(w.truthItem(&it)) {
				return
			}
		}
	}
}

func (w *world) truthItem(it *item) TruthItem {
	out := TruthItem{
		Number: it.number, ID: it.id(), State: restState(it), AuthorLogin: w.cast(it.repo, it.role).login,
		CreatedAt: utc(it.created), UpdatedAt: utc(it.updated), ClosedAt: utcOrNil(it.closed), MergedAt: utcOrNil(it.merged),
	}
	if it.pull {
		out.ID = it.pullID()
	}
	return out
}

func (w *world) eventIDs(a int, at int64) []string {
	ids := []string{}
	for _, e := range w.visibleEvents(a, a, at) {
		ids = append(ids, e.id())
	}
	return ids
}

func utc(unix int64) time.Time { return time.Unix(unix, 0).UTC() }

func utcOrNil(unix int64) *time.Time {
	if unix == 0 {
		return nil
	}
	t := utc(unix)
	return &t
}
