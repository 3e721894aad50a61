package github

import (
	"fmt"
	"time"
)

// Repo names a repository of the world.
type Repo struct{ Owner, Name string }

// change runs one mutation of a repository under the world's lock. Its clock
// never runs backwards within a repository, whatever Now says.
func (s *Server) change(target Repo, apply func(r *repo, o *repoOverlay, now int64) error) error {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	r, ok := s.world.repoByName(target.Owner, target.Name)
	if !ok {
		return fmt.Errorf("repository %s/%s does not exist", target.Owner, target.Name)
	}
	return s.world.change(r, s.now().Unix(), apply)
}

func (w *world) change(r *repo, now int64, apply func(r *repo, o *repoOverlay, now int64) error) error {
	o := w.overlays[r.id]
	if o == nil {
		o = &repoOverlay{edits: map[int][]itemVersion{}, removed: map[int]absences{}}
		w.overlays[r.id] = o
	}
	r.overlay = o
	return apply(r, o, max(now, worldEnd))
}

// record notes what an account did; what is done outside of this world leaves
// no trace in it.
func (w *world) record(account int, e eventRecord) {
	if account >= 0 && !w.isOrganization(account) {
		w.events[account] = append(w.events[account], e)
	}
}

// Push appends n commits to the default branch.
func (s *Server) Push(target Repo, n int) error {
	return s.tell(s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		s.world.push(r, o, n, now)
		return nil
	}), target, pushChange())
}

func (w *world) push(r *repo, o *repoOverlay, n int, now int64) {
	now = max(now, o.moved)
	for range n {
		r.put(o, pushedCommit{committed: now, arrived: now})
	}
	o.moved = now
	w.record(r.account, eventRecord{kind: eventPush, at: now, repo: r.id, number: r.head()})
}

// OpenIssue opens an issue by the repository's owner and returns its number.
func (s *Server) OpenIssue(target Repo) (int, error) { return s.openItem(target, false) }

// OpenPull opens a pull request by the repository's owner and returns its number.
func (s *Server) OpenPull(target Repo) (int, error) { return s.openItem(target, true) }

func (s *Server) openItem(target Repo, pull bool) (number int, err error) {
	err = s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		if !pull && r.issuesDisabled {
			return fmt.Errorf("issues are disabled in %s", r.fullName())
		}
		number = s.world.open(r, o, pull, byOwner, now)
		return nil
	})
	return number, s.tell(err, target, itemChange(number, "opened")...)
}

func (w *world) open(r *repo, o *repoOverlay, pull bool, role authorRole, now int64) int {
	if last := len(o.opened); last > 0 {
		now = max(now, o.opened[last-1].created)
	}
	o.opened = append(o.opened, openedItem{pull: pull, created: now, role: role})
	number := r.lastNumber()
	kind := eventIssueOpened
	if pull {
		kind = eventPullOpened
	}
	w.record(r.account, eventRecord{kind: kind, at: now, repo: r.id, number: number})
	return number
}

// EditIssue changes the title of an issue or pull request, which moves its
// updated_at and nothing of its repository.
func (s *Server) EditIssue(target Repo, number int) error {
	return s.tell(s.editItem(target, number, func(*item, *itemVersion) error { return nil }), target, itemChange(number, "edited")...)
}

// CloseIssue closes an issue, or a pull request without merging it.
func (s *Server) CloseIssue(target Repo, number int) error {
	return s.tell(s.editItem(target, number, func(_ *item, v *itemVersion) error {
		v.closed = v.at
		return nil
	}), target, itemChange(number, "closed")...)
}

// ReopenIssue opens a closed issue or pull request again.
func (s *Server) ReopenIssue(target Repo, number int) error {
	return s.tell(s.editItem(target, number, func(it *item, v *itemVersion) error {
		if it.merged != 0 {
			return fmt.Errorf("pull request %d is merged", number)
		}
		v.closed = 0
		return nil
	}), target, itemChange(number, "reopened")...)
}

// MergePull merges an open pull request; its commits reach the default branch.
func (s *Server) MergePull(target Repo, number int) error {
	return s.tell(s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		it, ok := r.findItem(number)
		if !ok || !it.pull || !it.open() {
			return fmt.Errorf("%s has no open pull request %d", r.fullName(), number)
		}
		s.world.merge(r, o, it, now)
		return nil
	}), target, append(itemChange(number, "closed"), pushChange())...)
}

func (w *world) merge(r *repo, o *repoOverlay, it item, now int64) {
	v := it.edit(now)
	v.closed, v.merged = v.at, v.at
	o.edits[it.number] = append(o.edits[it.number], v)
	w.push(r, o, 1, now)
	w.record(r.account, eventRecord{kind: eventPullMerged, at: v.at, repo: r.id, number: it.number})
}

func (s *Server) editItem(target Repo, number int, alter func(*item, *itemVersion) error) error {
	return s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		it, ok := r.findItem(number)
		if !ok {
			return fmt.Errorf("%s has no issue or pull request %d", r.fullName(), number)
		}
		v := it.edit(now)
		if err := alter(&it, &v); err != nil {
			return err
		}
		o.edits[number] = append(o.edits[number], v)
		return nil
	})
}

// edit begins the item's next version, which differs from this one in its time.
func (it *item) edit(now int64) itemVersion {
	return itemVersion{at: max(now, it.updated), closed: it.closed, merged: it.merged}
}

// Star adds n stars, which moves the repository's updated_at.
func (s *Server) Star(target Repo, n int) error {
	return s.tell(s.change(target, func(_ *repo, o *repoOverlay, now int64) error {
		for range n {
			o.stars = append(o.stars, now)
		}
		return nil
	}), target, repoChange("star", "created"))
}

// MutateOnce makes the next change of the seed's sequence, to a repository of
// the given account, or of one drawn from the seed when login is empty.
func (s *Server) MutateOnce(login string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	a, ok := s.world.accountByLogin(login)
	if !ok {
		a = -1
	}
	s.world.mutate(a, s.now())
}

// mutate depends only on the seed, on how many changes came before and on the
// account asked for; the clock gives no more than the dates.
func (w *world) mutate(account int, now time.Time) {
	d := draws{derive(w.seed, kindMutation, w.changes)}
	w.changes++
	if drawn := int(d.below(int64(w.accounts))); account < 0 {
		account = drawn
	}
	repos := w.ownedRepos(account, account)
	if len(repos) == 0 {
		return
	}
	r := repos[d.below(int64(len(repos)))]
	_ = w.change(r, now.Unix(), func(r *repo, o *repoOverlay, now int64) error {
		w.drawnChange(&d, r, o, now)
		return nil
	})
}

// changesADay is how many things happen to each account on a day of a world that
// goes on.
const changesADay = 3

// grow lets the world go on until an instant.
func (w *world) grow(until time.Time) {
	for n := int64(0); ; n++ {
		at := time.Unix(worldEnd+n*86400/int64(changesADay*w.accounts), 0)
		if !at.Before(until) {
			return
		}
		w.mutate(int(n)%w.accounts, at)
	}
}

func (w *world) drawnChange(d *draws, r *repo, o *repoOverlay, now int64) {
	kind := d.below(6)
	role := drawRole(d)
	it, found := r.findItem(int(1 + d.below(int64(r.lastNumber()))))
	switch {
	case kind == 0 && !r.issuesDisabled:
		w.open(r, o, false, role, now)
	case kind == 1 && !r.empty():
		w.open(r, o, true, role, now)
	case kind == 2 && found:
		o.edits[it.number] = append(o.edits[it.number], it.edit(now))
	case kind == 3 && found && it.open() && it.pull:
		w.merge(r, o, it, now)
	case kind == 3 && found && it.open():
		v := it.edit(now)
		v.closed = v.at
		o.edits[it.number] = append(o.edits[it.number], v)
	case kind == 4:
		o.stars = append(o.stars, now)
	default:
		w.push(r, o, int(1+d.below(5)), now)
	}
}
