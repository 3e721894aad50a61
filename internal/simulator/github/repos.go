package github

import (
	"strconv"
	"strings"
)

// repo is one repository as it stands now: the base world with its overlay.
type repo struct {
	account, index int
	id             int64
	key            uint64
	owner          person
	name           string
	language       string

	baseCommits, baseIssues, basePulls int

	created, pushed, updated int64
	stars, forks, watchers   int64
	size                     int64

	fork, private, archived, issuesDisabled bool
	collaborates                            bool // its helper was given write access

	overlay *repoOverlay // never nil
	people  [byNobody]person
}

// repoOverlay is what happened to a repository after the base world ended.
type repoOverlay struct {
	pushed  []int64 // when each appended commit was committed
	opened  []openedItem
	edits   map[int][]itemVersion
	removed map[int]int64 // issue number → when it was deleted
	stars   []int64
	name    string
	touched int64 // last change to the repository's own settings

	deletedAt, blockedAt int64
}

var pristine = &repoOverlay{}

func repoID(a, index int) int64 { return repoIDBase + int64(a)<<repoBits + int64(index) }

func (w *world) repoCount(a int) int {
	d := draws{derive(w.accountKey(a), kindRepo, 1<<40)}
	if w.shape != nil {
		return min(d.within(w.shape.Repos), 1<<repoBits)
	}
	if d.oneIn(12) {
		return d.within(Between(16, 30))
	}
	return d.within(Between(3, 15))
}

func (w *world) repoKey(a, index int) uint64 {
	return derive(w.accountKey(a), kindRepo, uint64(index))
}

func baseRepoName(key uint64, index int) string {
	return pick(repoAdjectives, key) + "-" + pick(repoNouns, key>>20) + "-" + strconv.Itoa(index)
}

// repo computes a repository that exists or once existed; the caller has
// checked the indexes.
func (w *world) repo(a, index int) *repo {
	key := w.repoKey(a, index)
	r := &repo{
		account: a, index: index, id: repoID(a, index), key: key,
		owner: w.person(a), name: baseRepoName(key, index), overlay: pristine,
	}
	d := draws{key}
	r.created = worldBegin + d.below(4*365*86400)
	r.language = pick(languages, d.next())
	r.stars = d.below(12) * d.below(12) * d.below(6)
	r.forks = r.stars / 7
	r.watchers = 1 + r.stars/20
	r.size = 1 + d.below(60_000)
	r.archived = d.oneIn(25)
	r.collaborates = d.oneIn(4)
	w.sizeRepo(r, &d)

	r.pushed = r.created
	if r.baseCommits > 0 {
		r.pushed = r.baseCommitTime(r.baseCommits - 1)
	}
	r.updated = min(r.pushed+d.below(3600), worldEnd)
	if o := w.overlays[r.id]; o != nil {
		r.apply(o)
	}
	return r
}

// sizeRepo draws how much a repository holds and how odd it is.
func (w *world) sizeRepo(r *repo, d *draws) {
	if s := w.shape; s != nil {
		r.baseCommits, r.baseIssues, r.basePulls = d.within(s.Commits), d.within(s.Issues), d.within(s.Pulls)
		if !s.Oddities {
			return
		}
	} else {
		r.baseCommits = skewed(d, Between(1, 40), Between(100, 400), Between(500, 1200))
		r.baseIssues = skewed(d, Between(0, 12), Between(20, 80), Between(100, 150))
		r.basePulls = skewed(d, Between(0, 6), Between(8, 25), Between(30, 60))
	}
	r.fork = d.oneIn(8)
	r.private = d.oneIn(7)
	if d.oneIn(12) {
		r.baseCommits, r.basePulls = 0, 0
	}
	if d.oneIn(20) {
		r.issuesDisabled, r.baseIssues = true, 0
	}
}

// skewed draws mostly from small, at times from medium, rarely from large.
func skewed(d *draws, small, medium, large Range) int {
	switch roll := d.below(100); {
	case roll < 70:
		return d.within(small)
	case roll < 97:
		return d.within(medium)
	default:
		return d.within(large)
	}
}

func (r *repo) apply(o *repoOverlay) {
	r.overlay = o
	if o.name != "" {
		r.name = o.name
	}
	if n := len(o.pushed); n > 0 {
		r.pushed = o.pushed[n-1]
	}
	r.stars += int64(len(o.stars))
	r.updated = max(r.updated, o.touched)
	if len(o.pushed) > 0 {
		r.updated = max(r.updated, r.pushed)
	}
	if n := len(o.stars); n > 0 {
		r.updated = max(r.updated, o.stars[n-1])
	}
}

func (r *repo) fullName() string { return r.owner.login + "/" + r.name }
func (r *repo) deleted() bool    { return r.overlay.deletedAt != 0 }
func (r *repo) blocked() bool    { return r.overlay.blockedAt != 0 }
func (r *repo) empty() bool      { return r.commitCount() == 0 }

// helper is the other account that works on this repository: one of the three
// that follow its owner, so that both directions can be computed.
func (w *world) helper(r *repo) person {
	a := (r.account + 1 + int(r.key>>40%3)) % w.accounts
	if a == r.account {
		return r.stranger()
	}
	return w.person(a)
}

// stranger is a contributor who has no account in this world.
func (r *repo) stranger() person {
	n := int64(r.key >> 8 % 9_000_000)
	return person{id: strangerIDBase + n, login: "passer-by-" + strconv.FormatInt(n, 36), account: -1}
}

// visibleTo is false where GitHub would pretend that nothing is there.
func (r *repo) visibleTo(account int) bool {
	return !r.deleted() && (!r.private || account == r.account)
}

func (w *world) repoByID(id int64) (*repo, bool) {
	offset := id - repoIDBase
	if offset < 0 {
		return nil, false
	}
	a, index := int(offset>>repoBits), int(offset&(1<<repoBits-1))
	if !w.accountExists(a) || index >= w.repoCount(a) {
		return nil, false
	}
	return w.repo(a, index), true
}

// repoByName also finds repositories under a former name; the caller compares
// the name to learn whether it must redirect.
func (w *world) repoByName(owner, name string) (*repo, bool) {
	a, ok := w.accountByLogin(owner)
	if !ok {
		return nil, false
	}
	if index, ok := w.renamed[a][strings.ToLower(name)]; ok {
		return w.repo(a, index), true
	}
	dash := strings.LastIndexByte(name, '-')
	index, err := strconv.Atoi(name[dash+1:])
	if err != nil || index < 0 || index >= w.repoCount(a) {
		return nil, false
	}
	if !strings.EqualFold(baseRepoName(w.repoKey(a, index), index), name) {
		return nil, false
	}
	return w.repo(a, index), true
}

// ownedRepos lists what viewer may see of an account's repositories.
func (w *world) ownedRepos(a, viewer int) []*repo {
	n := w.repoCount(a)
	out := make([]*repo, 0, n)
	for i := range n {
		if r := w.repo(a, i); r.visibleTo(viewer) {
			out = append(out, r)
		}
	}
	return out
}

// helpedRepos lists the public repositories of others that a works on.
func (w *world) helpedRepos(a int) []*repo {
	var out []*repo
	seen := map[int]bool{a: true}
	for back := 1; back <= 3; back++ {
		owner := ((a-back)%w.accounts + w.accounts) % w.accounts
		if seen[owner] || !w.accountExists(owner) {
			continue
		}
		seen[owner] = true
		for _, r := range w.ownedRepos(owner, a) {
			if w.helper(r).account == a {
				out = append(out, r)
			}
		}
	}
	return out
}
