package github

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// Truth is what a complete collection of an account with its own token must
// contain. A repository that is deleted or blocked is listed and marked, but
// holds nothing a collection could be asked for.
type Truth struct {
	Profile      TruthProfile      `json:"profile"`
	Repositories []TruthRepository `json:"repositories"`
	Events       []string          `json:"events"`
}

// TruthProfile identifies the account.
type TruthProfile struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
}

// TruthRepository is one repository with all it holds.
type TruthRepository struct {
	ID             int64         `json:"id"`
	Name           string        `json:"name"`
	FullName       string        `json:"full_name"`
	Fork           bool          `json:"fork"`
	Private        bool          `json:"private"`
	Stars          int64         `json:"stars"`
	Language       string        `json:"language"`
	Empty          bool          `json:"empty"`
	IssuesDisabled bool          `json:"issues_disabled"`
	Deleted        bool          `json:"deleted"`
	Blocked        bool          `json:"blocked"`
	Commits        []TruthCommit `json:"commits"`
	Issues         []TruthItem   `json:"issues"`
	Pulls          []TruthItem   `json:"pulls"`
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
	a, ok := s.world.accountByLogin(login)
	if !ok {
		return Truth{}, fmt.Errorf("account %s does not exist", login)
	}
	when := truthInstant(at)
	t := Truth{Profile: TruthProfile{ID: accountIDBase + int64(a), Login: s.world.login(a)}, Events: s.world.eventIDs(a, when)}
	for i := range s.world.repoCount(a) {
		r := s.world.repo(a, i)
		if r.created > when {
			continue
		}
		out := r.truth(when)
		if out.holds() {
			out.Commits = slices.Collect(s.world.truthCommits(r, 0, r.commitCount(), when))
			out.Issues = slices.Collect(s.world.truthItems(r, 1, r.lastNumber(), false, when))
			out.Pulls = slices.Collect(s.world.truthItems(r, 1, r.lastNumber(), true, when))
		}
		t.Repositories = append(t.Repositories, out)
	}
	return t, nil
}

func truthInstant(at time.Time) int64 {
	if at.IsZero() {
		return latest
	}
	return at.Unix()
}

func (t *TruthRepository) holds() bool { return !t.Deleted && !t.Blocked }

// truth describes a repository without its contents.
func (r *repo) truth(at int64) TruthRepository {
	stars := r.stars
	for _, when := range r.overlay.stars {
		if when > at {
			stars--
		}
	}
	return TruthRepository{
		ID: r.id, Name: r.name, FullName: r.fullName(), Fork: r.fork, Private: r.private,
		Stars: stars, Language: r.language, IssuesDisabled: r.issuesDisabled,
		Empty:   r.empty() || r.commitTime(0) > at,
		Deleted: r.deleted() && r.overlay.deletedAt <= at,
		Blocked: r.blocked() && r.overlay.blockedAt <= at,
	}
}

// truthCommits yields commits of [from, to), the oldest first.
func (w *world) truthCommits(r *repo, from, to int, at int64) iter.Seq[TruthCommit] {
	return func(yield func(TruthCommit) bool) {
		for i := from; i < to && r.commitTime(i) <= at; i++ {
			c := w.commit(r, i)
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
