package github

import (
	"math/rand/v2"
	"testing"
)

func TestShaNamesItsCommit(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed(t), 1))
	for range 1000 {
		key, i := rng.Uint64(), rng.IntN(1<<40)
		sha := shaOf(key, i)
		if got, ok := commitIndex(key, sha); !ok || got != i {
			t.Fatalf("commitIndex(%x, %s) = %d, %v; want %d", key, sha, got, ok, i)
		}
		if _, ok := commitIndex(key+1, sha); ok {
			t.Fatalf("another repository claims %s", sha)
		}
	}
}

func TestBaseWorldIsOrderedAndInThePast(t *testing.T) {
	s := New(Options{Seed: seed(t), Accounts: 30})
	for a := range 30 {
		for i := range s.world.repoCount(a) {
			r := s.world.repo(a, i)
			checkOrdered(t, r)
			if r.pushed >= worldEnd || r.updated > worldEnd || r.created < worldBegin {
				t.Fatalf("%s: created %d pushed %d updated %d", r.fullName(), r.created, r.pushed, r.updated)
			}
		}
	}
}

func checkOrdered(t *testing.T, r *repo) {
	t.Helper()
	for i := 1; i < r.commitCount(); i++ {
		if r.commitTime(i) <= r.commitTime(i-1) {
			t.Fatalf("%s: commit %d is not after its parent", r.fullName(), i)
		}
	}
	pulls, before := 0, int64(0)
	for n := 1; n <= r.lastNumber(); n++ {
		it := r.item(n)
		if it.pull {
			pulls++
		}
		if it.created <= before || it.updated < it.created || it.updated >= worldEnd || it.closed > it.updated || it.closed != 0 && it.closed < it.created {
			t.Fatalf("%s: %+v", r.fullName(), it)
		}
		before = it.created
	}
	if pulls != r.basePulls {
		t.Fatalf("%s has %d pulls, want %d", r.fullName(), pulls, r.basePulls)
	}
}

func TestCommitRangeAgreesWithScanning(t *testing.T) {
	n := seed(t)
	rng := rand.New(rand.NewPCG(n, 2))
	s := New(Options{Seed: n, Accounts: 6, Shape: &Shape{Repos: Exactly(3), Commits: Between(1, 90)}})
	for range 400 {
		r := s.world.repo(rng.IntN(6), rng.IntN(3))
		f := commitFilter{}
		if rng.IntN(2) == 0 {
			f.since = r.created + rng.Int64N(worldEnd-r.created)
		}
		if rng.IntN(2) == 0 {
			f.until = r.created + rng.Int64N(worldEnd-r.created)
		}
		if role := authorRole(rng.IntN(4)); role != byNobody {
			f.author = s.world.cast(r, role).login
		}
		var want []int
		for i := r.commitCount() - 1; i >= 0; i-- {
			c := s.world.commit(r, i)
			if c.committed < f.since || f.until != 0 && c.committed > f.until || f.author != "" && c.author.login != f.author {
				continue
			}
			want = append(want, i)
		}
		list := s.world.commitRange(r, f)
		if list.count != len(want) {
			t.Fatalf("%+v: %d commits, want %d", f, list.count, len(want))
		}
		for k, i := range want {
			if list.at(k) != i || list.position(i) != k+1 {
				t.Fatalf("%+v: at(%d)=%d position(%d)=%d, want commit %d", f, k, list.at(k), i, list.position(i), i)
			}
		}
	}
}

func TestSameSeedSameWorld(t *testing.T) {
	n := seed(t)
	render := func(seed uint64) string {
		s := New(Options{Seed: seed, Accounts: 3, Limits: Limits{Disabled: true}})
		login, token, repo := first(t, s)
		return string(get(s, token, "/users/"+login+"/repos").body) + string(get(s, token, repo.path("/commits")).body)
	}
	if first, again := render(n), render(n); first != again {
		t.Fatal("the same seed gave two worlds")
	}
	if render(n) == render(n+1) {
		t.Fatal("two seeds gave the same world")
	}
}

func TestDefaultWorldHasOddities(t *testing.T) {
	s := New(Options{Seed: 1, Accounts: 60})
	var empty, private, fork, disabled, large int
	for a := range 60 {
		for _, r := range s.world.ownedRepos(a, a) {
			for counter, odd := range map[*int]bool{&empty: r.empty(), &private: r.private, &fork: r.fork, &disabled: r.issuesDisabled, &large: r.commitCount() > 100} {
				if odd {
					*counter++
				}
			}
		}
	}
	if empty == 0 || private == 0 || fork == 0 || disabled == 0 || large == 0 {
		t.Fatalf("empty %d, private %d, forks %d, issues disabled %d, over 100 commits %d", empty, private, fork, disabled, large)
	}
}

func TestMillionCommitsCostNoMemory(t *testing.T) {
	s := New(plain(1, 1_000_000, 0, 0))
	_, token, repo := first(t, s)
	r := get(s, token, repo.path("/commits?per_page=100&page=10000"))
	var page []struct{ SHA string }
	r.decode(t, &page)
	if len(page) != 100 || links(r)["next"] != "" || links(r)["prev"] == "" {
		t.Fatalf("last page holds %d commits, links %v", len(page), links(r))
	}
	if got, ok := commitIndex(s.world.repo(0, 0).key, page[99].SHA); !ok || got != 0 {
		t.Fatalf("the last commit of the last page is %d", got)
	}
}

func TestLoginsAreFoundAgain(t *testing.T) {
	s := New(Options{Seed: seed(t), Accounts: 12_345})
	for _, a := range []int{0, 7, 42, 999, 1000, 12_344} {
		login := s.world.login(a)
		if got, ok := s.world.accountByLogin(login); !ok || got != a {
			t.Errorf("%s is account %d, want %d", login, got, a)
		}
		for nth := 1; nth <= 2; nth++ {
			if got, ok := s.world.accountByToken(s.world.token(a, nth)); !ok || got != a {
				t.Errorf("token %d of %s is account %d's", nth, login, got)
			}
		}
	}
	if login := s.world.login(7); login[len(login)-5:] != "-0007" {
		t.Errorf("login %s", login)
	}
}
