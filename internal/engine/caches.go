package engine

import (
	"context"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// account is an account with its opened credential.
type account struct {
	domain.Account
	token string
	// to is where the credential may go, and set are the values of the source's config
	// that are the account's own, if that can be set.
	to  string
	set map[string]string
	// unreadable is why the credential cannot be opened; nil if it was.
	unreadable error
}

// accountCache spares every job two reads and a decryption.
type accountCache struct {
	store state.Accounts
	vault Vault
	now   func() time.Time

	mu   sync.RWMutex
	byID map[int64]account
	// forgotten counts forgets: what was read before one is not kept after it.
	forgotten int
	// list are the active accounts as of listed-1 forgets, read at listedAt;
	// 0 is never.
	list     []account
	listed   int
	listedAt time.Time
}

func newAccountCache(store state.Accounts, vault Vault, now func() time.Time) *accountCache {
	return &accountCache{store: store, vault: vault, now: now, byID: map[int64]account{}}
}

func (c *accountCache) get(ctx context.Context, id int64) (account, error) {
	c.mu.RLock()
	a, ok := c.byID[id]
	before := c.forgotten
	c.mu.RUnlock()
	if ok {
		return a, nil
	}
	stored, err := c.store.Account(ctx, id)
	if err != nil {
		return account{}, err
	}
	sealed, err := c.store.Credential(ctx, id)
	if err != nil {
		return account{}, err
	}
	token, unreadable := c.vault.Open(sealed, CredentialOwner(stored.Source, stored.Login))
	bound, wrong := parseBinding(token)
	if unreadable == nil {
		unreadable = wrong
	}
	a = account{stored, bound.Token, bound.To, bound.Set, unreadable}
	c.mu.Lock()
	if c.forgotten == before {
		c.byID[id] = a
	}
	c.mu.Unlock()
	return a, nil
}

func (c *accountCache) forget(id int64) {
	c.mu.Lock()
	delete(c.byID, id)
	c.forgotten++
	c.mu.Unlock()
}

// forgetOlder forgets accounts that have another version in the store: another
// process has changed them.
func (c *accountCache) forgetOlder(stored []domain.Account) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range stored {
		if a, ok := c.byID[s.ID]; ok && a.Version < s.Version {
			delete(c.byID, s.ID)
		}
	}
}

// forgetAll is for what concerns every account with the same credential.
func (c *accountCache) forgetAll() {
	c.mu.Lock()
	clear(c.byID)
	c.forgotten++
	c.mu.Unlock()
}

// runInfo is what every job of a run needs and none of them changes.
type runInfo struct {
	domain.Run
	cursors map[string]time.Time
	// origin is what began it.
	origin state.Origin
}

// runCacheSize bounds what is remembered of runs: each counts as one, and each
// of its account's cursors as one, of about a hundred bytes.
const runCacheSize = 1 << 18

// runCache keeps the active runs' constants.
type runCache struct {
	store   state.Runs
	cursors state.Collection
	origins state.Origins

	mu   sync.RWMutex
	byID map[int64]runInfo
	// size is what the runs in it count.
	size int
}

func (r *runInfo) size() int { return 1 + len(r.cursors) }

func newRunCache(store state.Runs, cursors state.Collection, origins state.Origins) *runCache {
	return &runCache{store: store, cursors: cursors, origins: origins, byID: map[int64]runInfo{}}
}

func (c *runCache) get(ctx context.Context, id int64) (runInfo, error) {
	c.mu.RLock()
	r, ok := c.byID[id]
	c.mu.RUnlock()
	if ok {
		return r, nil
	}
	run, err := c.store.Run(ctx, id)
	if err != nil {
		return runInfo{}, err
	}
	cursors, err := c.cursors.Cursors(ctx, run.AccountID)
	if err != nil {
		return runInfo{}, err
	}
	r = runInfo{run, cursors, state.OriginOfRun(id)}
	if c.origins != nil {
		if r.origin, err = c.origins.Origin(ctx, id); err != nil {
			return runInfo{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Two workers may read at once; all jobs must see the same cursors.
	if first, ok := c.byID[id]; ok {
		return first, nil
	}
	if c.size+r.size() > runCacheSize {
		// Runs that ended in another process are not taken out.
		clear(c.byID)
		c.size = 0
	}
	c.byID[id] = r
	c.size += r.size()
	return r, nil
}

func (c *runCache) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.byID[id]; ok {
		c.size -= r.size()
		delete(c.byID, id)
	}
}
