package github

import (
	"slices"
	"strconv"
)

// upheaval is one kind of change; it returns false when the repository is not in
// a state in which it could happen.
type upheaval struct {
	kind string
	make func(u *upset) bool
}

// upset is one repository about to change.
type upset struct {
	world   *world
	account int
	d       *draws
	repo    *repo
	overlay *repoOverlay
	now     int64
	// spare is whether the account can lose a repository: it keeps half of them.
	spare bool
}

func upheavals() []upheaval {
	return []upheaval{
		{ChangeOrdinary, func(u *upset) bool {
			if !u.present() {
				return false
			}
			u.world.drawnChange(u.d, u.repo, u.overlay, u.now)
			return true
		}},
		{ChangePart, (*upset).changePart},
		{ChangePartDeleted, (*upset).deletePart},
		{ChangeIssueDeleted, (*upset).deleteIssue},
		{ChangeIssueRestored, (*upset).restoreIssue},
		{ChangeRepoDeleted, func(u *upset) bool { return u.lose(GoneDeleted) }},
		{ChangeRepoRestored, func(u *upset) bool { return u.regain(GoneDeleted) }},
		{ChangeBlocked, func(u *upset) bool { return u.lose(GoneBlocked) }},
		{ChangeUnblocked, func(u *upset) bool { return u.regain(GoneBlocked) }},
		{ChangeAccessTaken, func(u *upset) bool { return u.lose(GoneNoPermission) }},
		{ChangeAccessGranted, func(u *upset) bool { return u.regain(GoneNoPermission) }},
		{ChangeTransferred, (*upset).transfer},
		{ChangeRenamed, func(u *upset) bool {
			name := "renamed-" + b36(u.d.below(1<<30)) + "-" + strconv.Itoa(u.repo.index)
			return u.present() && u.world.rename(u.repo, u.overlay, name, u.now) == nil
		}},
		{ChangeVisibility, func(u *upset) bool {
			u.overlay.visibility = append(u.overlay.visibility, visibilityChange{private: !u.repo.private, since: u.now})
			u.overlay.touched = u.now
			return true
		}},
		{ChangeForcePush, (*upset).forcePush},
		{ChangeLateMerge, func(u *upset) bool {
			if !u.present() || u.repo.empty() {
				return false
			}
			u.world.mergeLate(u.repo, u.overlay, int(1+u.d.below(3)), u.now)
			return true
		}},
	}
}

// present tells whether the account has the repository.
func (u *upset) present() bool {
	why, _ := u.repo.goneAt(u.account, latest)
	return why == ""
}

func (u *upset) lose(why string) bool {
	if !u.spare || !u.present() {
		return false
	}
	u.overlay.gone = u.overlay.gone.begin(why, u.now)
	return true
}

func (u *upset) regain(why string) bool { return u.overlay.gone.end(why, u.now) }

func (u *upset) deleteIssue() bool {
	it, ok := u.repo.findItem(int(1 + u.d.below(int64(u.repo.lastNumber()))))
	if !ok || it.pull {
		return false
	}
	u.overlay.removed[it.number] = u.overlay.removed[it.number].begin(GoneDeleted, u.now)
	return true
}

// changePart adds a comment, a label or the like, or edits one.
func (u *upset) changePart() bool {
	k := partKind(u.d.below(int64(partKinds)))
	number := 0
	if k.aboutItem() {
		it, ok := u.repo.findItem(int(1 + u.d.below(int64(u.repo.lastNumber()))))
		if !ok || k.aboutPull() && !it.pull || !u.world.touchItem(u.repo, u.overlay, it.number, u.now) {
			return false
		}
		number = it.number
	}
	if u.repo.switchedOff(k) {
		return false
	}
	o := u.overlay.partsOf(k)
	serial := int(u.d.below(int64(max(u.repo.lastPart(k), 1))))
	if p, ok := u.repo.findPart(k, serial); ok && !k.aboutItem() && !k.fixed() && u.d.oneIn(2) {
		o.edits[serial] = append(o.edits[serial], max(u.now, p.updated))
		return true
	}
	o.added = append(o.added, addedPart{number: number, created: u.now})
	return true
}

func (u *upset) deletePart() bool {
	k := partKind(u.d.below(int64(partKinds)))
	serial := int(u.d.below(int64(max(u.repo.lastPart(k), 1))))
	if _, ok := u.repo.findPart(k, serial); !ok {
		return false
	}
	o := u.overlay.partsOf(k)
	o.removed[serial] = o.removed[serial].begin(GoneDeleted, u.now)
	return true
}

func (u *upset) restoreIssue() bool {
	for number := 1; number <= u.repo.lastNumber(); number++ {
		if u.overlay.removed[number].end(GoneDeleted, u.now) {
			return true
		}
	}
	return false
}

// transfer gives the repository away, to another account or out of this world,
// or lets it come back.
func (u *upset) transfer() bool {
	to := u.world.person(u.account)
	if u.repo.account == u.account {
		other := int(u.d.below(int64(u.world.accounts + 1)))
		if !u.spare || !u.present() || other == u.account {
			return false
		}
		to = u.world.personCalled("departed-org")
		if u.world.accountExists(other) {
			to = u.world.person(other)
		}
	}
	return u.world.transfer(u.repo, u.overlay, to, u.now) == nil
}

func (u *upset) forcePush() bool {
	n := u.repo.commitCount()
	if !u.present() || n == 0 {
		return false
	}
	drop := int(1 + u.d.below(int64(min(n, 5))))
	add := int(u.d.below(3))
	if drop == n {
		add++
	}
	u.world.forcePush(u.repo, u.overlay, drop, add, u.now)
	return true
}

// upheave makes one change to what the call is about before it is answered.
func (c *call) upheave(mode Nasty, d *draws) {
	account := c.subject()
	if account < 0 {
		return
	}
	if mode.draws(ChangeIssueShifted) && c.shiftIssues() {
		c.server.audit.injected(ChangeIssueShifted)
		return
	}
	if mode.draws(ChangeHeavyConnected) && d.oneIn(int64(len(ChangeKinds()))) && c.weighDown(account, d) {
		c.server.audit.injected(ChangeHeavyConnected)
		return
	}
	world := c.server.world
	world.mu.Lock()
	kind := world.upheave(mode, account, d, c.server.now().Unix())
	world.mu.Unlock()
	if kind != "" {
		c.server.audit.injected(kind)
	}
}

// upheave tries the kinds in turn, beginning with a drawn one, and the
// repositories likewise, until something happens.
func (w *world) upheave(mode Nasty, account int, d *draws, now int64) string {
	repos := w.everOwned(account)
	all := slices.DeleteFunc(upheavals(), func(u upheaval) bool { return !mode.draws(u.kind) })
	if len(repos) == 0 || len(all) == 0 {
		return ""
	}
	there := 0
	for _, r := range repos {
		if why, _ := r.goneAt(account, latest); why == "" {
			there++
		}
	}
	first, which := int(d.below(int64(len(all)))), int(d.below(int64(len(repos))))
	for i := range all {
		kind := all[(first+i)%len(all)]
		for k := range repos {
			r := repos[(which+k)%len(repos)]
			u := &upset{world: w, account: account, d: d, repo: r, spare: there > (w.repoCount(account)+1)/2}
			done := false
			_ = w.change(r, now, func(r *repo, o *repoOverlay, now int64) error {
				u.overlay, u.now = o, now
				done = kind.make(u)
				return nil
			})
			if done {
				return kind.kind
			}
		}
	}
	return ""
}

// shiftIssues deletes an issue of a page that the caller has had already, so
// that the pages by number move up under it.
func (c *call) shiftIssues() bool {
	if c.route.endpoint != endpointIssues || c.page().number < 2 || c.query.Get("after") != "" {
		return false
	}
	world := c.server.world
	world.mu.Lock()
	defer world.mu.Unlock()
	r, ok := world.repoByID(c.route.repoID)
	if c.route.name != "" {
		r, ok = world.repoByName(c.route.login, c.route.name)
	}
	if !ok {
		return false
	}
	q := itemQuery{issues: true, open: true, closed: true, merged: true, descending: c.query.Get("direction") != "asc"}
	if c.query.Get("sort") == "updated" {
		q.sort = sortUpdated
	}
	list := r.items(q)
	if list.len() == 0 {
		return false
	}
	number := list.at(0).number
	_ = world.change(r, c.server.now().Unix(), func(_ *repo, o *repoOverlay, now int64) error {
		o.removed[number] = o.removed[number].begin(GoneDeleted, now)
		return nil
	})
	return true
}

// weighDown makes a connection of one of the account's repositories heavy.
func (c *call) weighDown(account int, d *draws) bool {
	s := c.server
	s.world.mu.RLock()
	repos := s.world.ownedRepos(account, account)
	s.world.mu.RUnlock()
	if len(repos) == 0 {
		return false
	}
	key := heavyKey{
		id:         repos[d.below(int64(len(repos)))].id,
		connection: []string{"history", "issues", "pullRequests"}[d.below(3)],
	}
	s.heavy.set(key, Heavy{Above: int(10 + d.below(40)), How: []string{"502", "504", "timeout", "partial"}[d.below(4)]})
	return true
}
