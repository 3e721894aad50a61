package github

import (
	"slices"
	"strconv"
	"strings"
)

// repo is one repository as it stands now: the base world with its overlay.
type repo struct {
	account int // who owns it now, -1 for an owner outside of this world
	birth   int // the account it was created by, which its id tells
	index   int
	id      int64
	key     uint64
	// owner owns it now; founder created it and stays the author of his work.
	owner, founder person
	name           string
	language       string

	baseCommits, baseIssues, basePulls int

	created, pushed, updated int64
	stars, forks, watchers   int64
	size                     int64

	fork, private, archived, issuesDisabled bool
	collaborates                            bool // its helper was given write access

	overlay *repoOverlay // never nil
	world   *world
	people  [byNobody]person
}

// repoOverlay is what happened to a repository after the base world ended.
type repoOverlay struct {
	pushed  []pushedCommit
	opened  []openedItem
	edits   map[int][]itemVersion
	removed map[int]absences // of issues, by number
	parts   [partKinds]*partOverlay
	stars   []int64
	name    string
	touched int64 // last change to the repository's own settings
	moved   int64 // last time that the default branch moved

	// rewritten means that line is the default branch, oldest first, and dropped
	// are the commits that were taken off it, by serial.
	rewritten bool
	line      []int
	dropped   map[int]absences

	gone       absences // deleted, blocked, out of sight
	owners     []ownership
	visibility []visibilityChange
}

// ownership is who owns a transferred repository from an instant on.
type ownership struct {
	owner person
	since int64
}

type visibilityChange struct {
	private bool
	since   int64
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
		account: a, birth: a, index: index, id: repoID(a, index), key: key,
		owner: w.person(a), founder: w.person(a), name: baseRepoName(key, index), overlay: pristine, world: w,
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
	if n := len(o.owners); n > 0 {
		r.owner = o.owners[n-1].owner
		r.account = r.owner.account
	}
	r.private = r.privateAt(latest)
	r.stars += int64(len(o.stars))
	r.updated = max(r.updated, o.touched)
	if o.moved != 0 {
		r.pushed = o.moved
		r.updated = max(r.updated, r.pushed)
	}
	if n := len(o.stars); n > 0 {
		r.updated = max(r.updated, o.stars[n-1])
	}
}

// privateAt tells whether the repository was private at an instant.
func (r *repo) privateAt(at int64) bool {
	private := r.private
	changes := r.overlay.visibility
	if len(changes) > 0 {
		private = !changes[0].private // as it was before the first change
	}
	for _, c := range changes {
		if c.since <= at {
			private = c.private
		}
	}
	return private
}

// ownerAt is who owned the repository at an instant.
func (r *repo) ownerAt(at int64) person {
	owner := r.founder
	for _, o := range r.overlay.owners {
		if o.since <= at {
			owner = o.owner
		}
	}
	return owner
}

func (r *repo) fullName() string { return r.owner.login + "/" + r.name }
func (r *repo) blocked() bool    { return r.overlay.gone.because(GoneBlocked) }
func (r *repo) empty() bool      { return r.commitCount() == 0 }

// helper is the other account that works on this repository: one of the three
// that follow its founder, so that both directions can be computed.
func (w *world) helper(r *repo) person {
	a := (r.birth + 1 + int(r.key>>40%3)) % w.accounts
	if a == r.birth || w.isOrganization(a) {
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
	gone := r.overlay.gone
	if gone.because(GoneDeleted) || gone.because(GoneNoPermission) {
		return false
	}
	return !r.private || account == r.account || r.world.isMember(r.account, account)
}

// repoByID also finds what is deleted; it does not find what an account took
// along when it was deleted.
func (w *world) repoByID(id int64) (*repo, bool) {
	offset := id - repoIDBase
	if offset < 0 {
		return nil, false
	}
	a, index := int(offset>>repoBits), int(offset&(1<<repoBits-1))
	if a >= w.accounts || index >= w.repoCount(a) {
		return nil, false
	}
	r := w.repo(a, index)
	return r, r.account < 0 || w.accountExists(r.account)
}

// repoByName also finds repositories under a former name or owner; the caller
// compares both to learn whether it must redirect.
func (w *world) repoByName(owner, name string) (*repo, bool) {
	if id, ok := w.names[nameKey(owner, name)]; ok {
		return w.repoByID(id)
	}
	a, ok := w.accountByLogin(owner)
	if !ok {
		return nil, false
	}
	dash := strings.LastIndexByte(name, '-')
	index, err := strconv.Atoi(name[dash+1:])
	if err != nil || index < 0 || index >= w.repoCount(a) {
		return nil, false
	}
	if !strings.EqualFold(baseRepoName(w.repoKey(a, index), index), name) {
		return nil, false
	}
	return w.repoByID(repoID(a, index))
}

// called tells whether this is the repository's name of today.
func (r *repo) called(owner, name string) bool {
	return strings.EqualFold(r.owner.login, owner) && strings.EqualFold(r.name, name)
}

func nameKey(owner, name string) string { return strings.ToLower(owner + "/" + name) }

// everOwned lists what an account owns or once owned.
func (w *world) everOwned(a int) []*repo {
	n := w.repoCount(a)
	out := make([]*repo, 0, n+len(w.received[a]))
	for i := range n {
		out = append(out, w.repo(a, i))
	}
	for _, id := range w.received[a] {
		offset := id - repoIDBase
		out = append(out, w.repo(int(offset>>repoBits), int(offset&(1<<repoBits-1))))
	}
	return out
}

// ownedRepos lists what viewer may see of an account's repositories.
func (w *world) ownedRepos(a, viewer int) []*repo {
	return slices.DeleteFunc(w.everOwned(a), func(r *repo) bool { return r.account != a || !r.visibleTo(viewer) })
}

// helpedRepos lists the public repositories of others that a works on.
func (w *world) helpedRepos(a int) []*repo {
	var out []*repo
	seen := map[int]bool{a: true}
	for back := 1; back <= 3; back++ {
		founder := ((a-back)%w.accounts + w.accounts) % w.accounts
		if seen[founder] || !w.accountExists(founder) {
			continue
		}
		seen[founder] = true
		for i := range w.repoCount(founder) {
			r := w.repo(founder, i)
			if r.account != a && r.visibleTo(a) && w.helper(r).account == a {
				out = append(out, r)
			}
		}
	}
	return out
}
