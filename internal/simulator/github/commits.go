package github

import (
	"math/bits"
	"sort"
	"strings"
)

// commit is one commit of a repository's default branch.
type commit struct {
	repo                 *repo
	serial               int
	key                  uint64
	sha                  string
	committed, authored  int64
	author               person // unknown when the address belongs to nobody
	authorName, email    string
	additions, deletions int64
	files                int
}

// baseCommitTime is strictly increasing in i as long as the repository has
// fewer commits than seconds.
func (r *repo) baseCommitTime(i int) int64 {
	span := worldEnd - 86400 - r.created
	n := int64(r.baseCommits)
	step := span / n
	jitter := int64(0)
	if step > 1 {
		jitter = int64(derive(r.key, kindCommit, uint64(i)) >> 1 % uint64(step))
	}
	return r.created + 1 + int64(i)*span/n + jitter
}

// The authorship of commits repeats every authorPeriod commits, which makes
// "the k-th commit by X" a computation instead of a search.
const authorPeriod = 16

type authorRole int

const (
	byOwner authorRole = iota
	byHelper
	byStranger
	byNobody
)

func (r *repo) commitRole(i int) authorRole {
	pattern := derive(r.key, kindAuthors, 0)
	switch nibble := pattern >> (4 * (i % authorPeriod)) & 15; {
	case nibble < 10:
		return byOwner
	case nibble < 13:
		return byHelper
	case nibble < 14:
		return byStranger
	default:
		return byNobody
	}
}

// cast says who plays a role in a repository. The answer is kept in r, which
// belongs to one request.
func (w *world) cast(r *repo, role authorRole) person {
	if role == byNobody {
		return person{account: -1}
	}
	if known := r.people[role]; known.known() {
		return known
	}
	who := r.founder
	if who.org {
		who = w.person(w.lead(who.account))
	}
	switch role {
	case byHelper:
		who = w.helper(r)
	case byStranger:
		who = r.stranger()
	}
	r.people[role] = who
	return who
}

func emailOf(p person) string {
	if !p.known() {
		return "build@localhost.localdomain"
	}
	return p.login + "@users.noreply.example.com"
}

func (w *world) commit(r *repo, serial int) commit {
	key := derive(r.key, kindCommit, uint64(serial)^1<<50)
	c := commit{repo: r, serial: serial, key: key, sha: shaOf(r.key, serial), committed: r.commitTime(serial)}
	c.author = w.cast(r, r.commitRole(serial))
	c.email = emailOf(c.author)
	c.authorName = c.author.login
	if !c.author.known() {
		c.authorName = "build bot"
	}
	d := draws{key}
	c.authored = c.committed
	if d.oneIn(5) {
		c.authored -= d.below(7200)
	}
	c.files = int(1 + d.below(8))
	if d.oneIn(400) {
		c.files = d.within(Between(301, 900))
	}
	c.additions = d.below(40)*d.below(10) + int64(c.files)
	c.deletions = d.below(30) * d.below(6)
	return c
}

func (c *commit) headline() string {
	d := draws{c.key ^ golden}
	return pick(verbs, d.next()) + " " + pick(objects, d.next()) + " " + pick(reasons, d.next())
}

func (c *commit) message() string {
	d := draws{mix(c.key)}
	if !d.oneIn(3) {
		return c.headline()
	}
	return c.headline() + "\n\n" + strings.Repeat(pick(verbs, d.next())+" "+pick(objects, d.next())+" "+pick(reasons, d.next())+".\n", int(1+d.below(4)))
}

// commitRange is a newest-first listing of commits, filtered by date and author
// without visiting what it skips.
type commitRange struct {
	low, high int // commit serials [low, high)
	mask      uint16
	perBlock  int
	before    int // matching commits below low
	count     int

	// A rewritten branch cannot be computed: it is listed, oldest first.
	listed bool
	list   []int
	repo   *repo
}

type commitFilter struct {
	since, until int64 // zero: unbounded; both ends included
	start        int   // serial of the newest commit wanted, plus one; zero: the branch's head
	author       string
	authorID     string // GraphQL filters by node id or addresses
}

func (w *world) commitRange(r *repo, f commitFilter) commitRange {
	if r.overlay.rewritten {
		return w.rewrittenRange(r, f)
	}
	n := r.commitCount()
	if f.start > 0 {
		n = min(n, f.start)
	}
	out := commitRange{high: n}
	if f.until != 0 {
		out.high = sort.Search(n, func(i int) bool { return r.commitTime(i) > f.until })
	}
	if f.since != 0 {
		out.low = sort.Search(n, func(i int) bool { return r.commitTime(i) >= f.since })
	}
	out.high = max(out.high, out.low)
	out.mask = w.authorMask(r, f)
	out.perBlock = bits.OnesCount16(out.mask)
	out.before = out.matchesBelow(out.low)
	out.count = out.matchesBelow(out.high) - out.before
	return out
}

func (w *world) authorMask(r *repo, f commitFilter) uint16 {
	if f.author == "" && f.authorID == "" {
		return 0xffff
	}
	var mask uint16
	for slot := range authorPeriod {
		p := w.cast(r, r.commitRole(slot))
		if f.author != "" && (strings.EqualFold(p.login, f.author) || emailOf(p) == f.author) ||
			f.authorID != "" && p.known() && userNodeID(p.id) == f.authorID {
			mask |= 1 << slot
		}
	}
	return mask
}

func (c *commitRange) matchesBelow(i int) int {
	partial := c.mask & (1<<(i%authorPeriod) - 1)
	return i/authorPeriod*c.perBlock + bits.OnesCount16(partial)
}

// at gives the serial of the k-th commit of the listing, the newest first.
func (c *commitRange) at(k int) int {
	if c.listed {
		return c.list[len(c.list)-1-k]
	}
	rank := c.before + c.count - 1 - k
	mask := c.mask
	for range rank % c.perBlock {
		mask &= mask - 1
	}
	return rank/c.perBlock*authorPeriod + bits.TrailingZeros16(mask)
}

// position is how many commits of the listing are newer than or at commit i:
// where a page that resumes after commit i begins.
func (c *commitRange) position(i int) int {
	if c.listed {
		if i < 0 || i >= c.repo.serials() {
			return len(c.list)
		}
		older := sort.Search(len(c.list), func(k int) bool { return !c.repo.older(c.list[k], i) })
		return len(c.list) - older
	}
	i = min(max(i, c.low), c.high)
	return c.before + c.count - c.matchesBelow(i)
}
