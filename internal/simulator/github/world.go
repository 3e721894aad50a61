package github

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	accountIDBase  = 10_000_000
	strangerIDBase = 60_000_000
	repoIDBase     = 100_000_000
	teamIDBase     = 5_000_000
	repoBits       = 14

	latest = math.MaxInt64
)

// The base world lies between these instants, strictly before any run.
var (
	worldBegin = time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	worldEnd   = time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC).Unix()
)

// world answers what exists. Everything that reads it holds mu for reading,
// every mutation holds it for writing.
type world struct {
	seed     uint64
	accounts int
	shape    *Shape
	// organizations is how many of the accounts are organisations, the last ones.
	organizations int

	// orders has its own lock: readers of the world fill it.
	orders partOrders

	mu       sync.RWMutex
	overlays map[int64]*repoOverlay // by repository id
	names    map[string]int64       // lower-case owner/name given later → repository id
	received map[int][]int64        // account → repositories transferred to it
	events   map[int][]eventRecord  // account → what happened after the base world
	gone     map[int]int64          // account → when it was deleted
	changes  uint64                 // mutations made so far
	orgs     map[int]orgOverlay     // organisations, by account
}

func newWorld(o Options) *world {
	return &world{
		seed:     o.Seed,
		accounts: o.Accounts,
		shape:    o.Shape,
		overlays: map[int64]*repoOverlay{},
		names:    map[string]int64{},
		received: map[int][]int64{},
		events:   map[int][]eventRecord{},
		gone:     map[int]int64{},
		orgs:     map[int]orgOverlay{},

		organizations: min(o.Organizations, o.Accounts-1),
	}
}

// person is anybody who can own, author or merge something.
type person struct {
	id      int64
	login   string
	account int // -1 for people without an account in this world
	org     bool
}

func (p person) known() bool { return p.login != "" }

// kind is what GitHub calls an owner of this kind.
func (p person) kind() string {
	if p.org {
		return "Organization"
	}
	return "User"
}

func (w *world) accountKey(a int) uint64 { return derive(w.seed, kindAccount, uint64(a)) }

func (w *world) login(a int) string {
	digits := strconv.Itoa(a)
	return pick(handles, w.accountKey(a)) + "-000"[:max(1, 5-len(digits))] + digits
}

func (w *world) person(a int) person {
	return person{id: accountIDBase + int64(a), login: w.login(a), account: a, org: w.isOrganization(a)}
}

// accountByLogin reads the index off the login's end, so no table is needed.
func (w *world) accountByLogin(login string) (int, bool) {
	dash := strings.LastIndexByte(login, '-')
	if dash < 0 {
		return 0, false
	}
	a, err := strconv.Atoi(login[dash+1:])
	if err != nil || !w.accountExists(a) || !strings.EqualFold(w.login(a), login) {
		return 0, false
	}
	return a, true
}

func (w *world) accountByID(id int64) (int, bool) {
	a := int(id - accountIDBase)
	return a, w.accountExists(a)
}

func (w *world) accountExists(a int) bool {
	if a < 0 || a >= w.accounts {
		return false
	}
	_, gone := w.gone[a]
	return !gone
}

// token is the nth credential of an account. It carries the account's index,
// so that recognising one needs no table either.
func (w *world) token(a, nth int) string {
	key := derive(w.seed, kindToken, uint64(a)<<8|uint64(nth))
	return fmt.Sprintf("ghp_%07x%d%016x%012x", a, nth, key, mix(key)>>16)
}

func (w *world) accountByToken(token string) (int, bool) {
	const prefix = "ghp_"
	if len(token) != 40 || !strings.HasPrefix(token, prefix) {
		return 0, false
	}
	a, err := strconv.ParseInt(token[4:11], 16, 32)
	nth := int(token[11] - '0')
	if err != nil || nth < 1 || nth > 2 || !w.accountExists(int(a)) || w.isOrganization(int(a)) {
		return 0, false
	}
	return int(a), w.token(int(a), nth) == token
}

// profile holds what only the account's own page shows.
type profile struct {
	name, company, location string
	followers, following    int64
	created, updated        int64
}

func (w *world) profile(a int) profile {
	d := draws{w.accountKey(a)}
	p := profile{
		name:     pick(givenNames, d.next()) + " " + pick(familyNames, d.next()),
		company:  pick(companies, d.next()),
		location: pick(places, d.next()),
	}
	p.followers = d.below(40) * d.below(40)
	p.following = d.below(120)
	p.created = worldBegin - d.below(5*365*86400) - 86400
	p.updated = worldEnd - d.below(200*86400)
	return p
}

func pick(words []string, draw uint64) string { return words[draw%uint64(len(words))] }
