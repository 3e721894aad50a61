package github

import (
	"errors"
	"fmt"
	"strings"
)

// DeleteIssue removes an issue or pull request; RestoreIssue brings it back.
func (s *Server) DeleteIssue(target Repo, number int) error {
	return s.tell(s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		if _, ok := r.findItem(number); !ok {
			return fmt.Errorf("%s has no issue %d", r.fullName(), number)
		}
		o.removed[number] = o.removed[number].begin(GoneDeleted, now)
		return nil
	}), target, change{"issues", "deleted", func(w *renderer, _ *repo) bool {
		w.key("issue").open('{')
		w.key("number").int(int64(number))
		w.close('}')
		return true
	}})
}

// RestoreIssue lets a deleted issue appear again, as it was: its updated_at does
// not move, as when the author's account is no longer hidden as spam.
func (s *Server) RestoreIssue(target Repo, number int) error {
	return s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		if !o.removed[number].end(GoneDeleted, now) {
			return fmt.Errorf("issue %d of %s is not deleted", number, r.fullName())
		}
		return nil
	})
}

// RenameRepo gives a repository another name; the former one redirects.
func (s *Server) RenameRepo(target Repo, name string) error {
	return s.tell(s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		return s.world.rename(r, o, name, now)
	}), target, repoChange("repository", "renamed", fmt.Sprintf(`{"repository":{"name":{"from":%q}}}`, target.Name)))
}

func (w *world) rename(r *repo, o *repoOverlay, name string, now int64) error {
	if w.taken(r, r.owner.login, name) {
		return fmt.Errorf("%s/%s exists already", r.owner.login, name)
	}
	w.names[nameKey(r.owner.login, name)] = r.id
	o.name, o.touched = name, now
	return nil
}

// taken tells whether another repository goes by this name.
func (w *world) taken(r *repo, owner, name string) bool {
	other, found := w.repoByName(owner, name)
	return found && other.id != r.id && other.called(owner, name)
}

// TransferRepo gives a repository to another owner: an account of this world,
// or anybody outside of it. Its id stays, its former address redirects.
func (s *Server) TransferRepo(target Repo, owner string) error {
	return s.tell(s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		if owner == "" || strings.EqualFold(owner, r.owner.login) {
			return fmt.Errorf("%s cannot be transferred to %q", r.fullName(), owner)
		}
		return s.world.transfer(r, o, s.world.personCalled(owner), now)
	}), target, repoChange("repository", "transferred", fmt.Sprintf(`{"owner":{"from":{"user":{"login":%q}}}}`, target.Owner)))
}

func (w *world) transfer(r *repo, o *repoOverlay, to person, now int64) error {
	if w.taken(r, to.login, r.name) {
		return fmt.Errorf("%s/%s exists already", to.login, r.name)
	}
	// The address it leaves must go on to find it, whatever it is called then.
	w.names[nameKey(r.owner.login, r.name)] = r.id
	w.names[nameKey(to.login, r.name)] = r.id
	if to.account >= 0 && to.account != r.birth && !r.everOwnedBy(to.account) {
		w.received[to.account] = append(w.received[to.account], r.id)
	}
	o.owners = append(o.owners, ownership{owner: to, since: now})
	o.touched = now
	return nil
}

func (r *repo) everOwnedBy(account int) bool {
	for _, o := range r.overlay.owners {
		if o.owner.account == account {
			return true
		}
	}
	return account == r.birth
}

// personCalled is an account, or somebody outside of this world.
func (w *world) personCalled(login string) person {
	if a, ok := w.accountByLogin(login); ok {
		return w.person(a)
	}
	id := strangerIDBase + int64(digest([]byte(strings.ToLower(login)))%9_000_000)
	return person{id: id, login: login, account: -1}
}

// SetPrivate makes a repository private or public. Its owner sees it either way,
// others get 404 for a private one.
func (s *Server) SetPrivate(target Repo, private bool) error {
	action := map[bool]string{true: "privatized", false: "publicized"}[private]
	return s.tell(s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		if r.private == private {
			return fmt.Errorf("%s is so already", r.fullName())
		}
		o.visibility = append(o.visibility, visibilityChange{private: private, since: now})
		o.touched = now
		return nil
	}), target, repoChange("repository", action))
}

// DeleteRepo removes a repository; it answers 404 from now on.
func (s *Server) DeleteRepo(target Repo) error {
	return s.tell(s.setGone(target, GoneDeleted, true), target, repoChange("repository", "deleted"))
}

// RestoreRepo brings a deleted repository back with all it held.
func (s *Server) RestoreRepo(target Repo) error { return s.setGone(target, GoneDeleted, false) }

// BlockRepo makes a repository unavailable for legal reasons (451).
func (s *Server) BlockRepo(target Repo) error { return s.setGone(target, GoneBlocked, true) }

// UnblockRepo makes a blocked repository available again.
func (s *Server) UnblockRepo(target Repo) error { return s.setGone(target, GoneBlocked, false) }

// WithdrawAccess takes a repository out of what the account's tokens may see: it
// answers 404 and is in no listing, though it exists.
func (s *Server) WithdrawAccess(target Repo) error { return s.setGone(target, GoneNoPermission, true) }

// GrantAccess undoes WithdrawAccess.
func (s *Server) GrantAccess(target Repo) error { return s.setGone(target, GoneNoPermission, false) }

func (s *Server) setGone(target Repo, why string, gone bool) error {
	return s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		if gone {
			o.gone = o.gone.begin(why, now)
			return nil
		}
		if !o.gone.end(why, now) {
			return fmt.Errorf("%s is not gone as %s", r.fullName(), why)
		}
		return nil
	})
}

// ForcePush takes the newest drop commits off the default branch and appends add
// others. Who knows the sha of one that was dropped can still read it.
func (s *Server) ForcePush(target Repo, drop, add int) error {
	return s.tell(s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		if drop < 1 || drop > r.commitCount() || drop == r.commitCount() && add < 1 {
			return fmt.Errorf("%s cannot lose %d of its %d commits", r.fullName(), drop, r.commitCount())
		}
		s.world.forcePush(r, o, drop, add, now)
		return nil
	}), target, pushChange())
}

func (w *world) forcePush(r *repo, o *repoOverlay, drop, add int, now int64) {
	now = max(now, o.moved)
	r.drop(o, drop, now)
	for range add {
		r.put(o, pushedCommit{committed: now, arrived: now})
	}
	o.moved = now
	w.record(r.account, eventRecord{kind: eventPush, at: now, repo: r.id, number: r.head()})
}

// MergeLate merges a branch of n commits that were made long ago, half of the
// way back to the first commit: they take their place among the old ones, and
// one merge commit comes on top.
func (s *Server) MergeLate(target Repo, n int) error {
	return s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		if n < 1 || r.empty() {
			return errors.New("a late merge needs commits, and a repository that has some")
		}
		s.world.mergeLate(r, o, n, now)
		return nil
	})
}

func (w *world) mergeLate(r *repo, o *repoOverlay, n int, now int64) {
	r.rewrite(o)
	now = max(now, o.moved)
	first := r.commitTime(o.line[0])
	for i := range n {
		r.put(o, pushedCommit{committed: first + (now-first)/2 + int64(i), arrived: now})
	}
	w.push(r, o, 1, now)
}

// DeleteAccount removes an account with everything it owns; its tokens are bad
// from now on.
func (s *Server) DeleteAccount(login string) error {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	a, ok := s.world.accountByLogin(login)
	if !ok {
		return fmt.Errorf("account %s does not exist", login)
	}
	s.world.gone[a] = s.now().Unix()
	return nil
}
