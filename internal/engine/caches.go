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
}

// accountCache spares every job two reads and a decryption.
type accountCache struct {
	store state.Accounts
	vault Vault

	mu sync.RWMutex
	by map[int64]account
	// forgotten counts forgets: what was read before one is not kept after it.
	forgotten int
	// list are the active accounts as of listed-1 forgets; 0 is never.
	list   []account
	listed int
}

func newAccountCache(store state.Accounts, vault Vault) *accountCache {
	return &accountCache{store: store, vault: vault, by: map[int64]account{}}
}

func (c *accountCache) get(ctx context.Context, id int64) (account, error) {
	c.mu.RLock()
	a, ok := c.by[id]
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
	token, err := c.vault.Open(sealed, credentialOwner(stored.Source, stored.Login))
	if err != nil {
		return account{}, err
	}
	a = account{stored, token}
	c.mu.Lock()
	if c.forgotten == before {
		c.by[id] = a
	}
	c.mu.Unlock()
	return a, nil
}

func (c *accountCache) forget(id int64) {
	c.mu.Lock()
	delete(c.by, id)
	c.forgotten++
	c.mu.Unlock()
}

// forgetAll is for what concerns every account with the same credential.
func (c *accountCache) forgetAll() {
	c.mu.Lock()
	clear(c.by)
	c.forgotten++
	c.mu.Unlock()
}

// runInfo is what every job of a run needs and none of them changes.
type runInfo struct {
	domain.Run
	cursors map[string]time.Time
}

// runCacheSize bounds how many runs are remembered.
const runCacheSize = 4096

// runCache keeps the active runs' constants.
type runCache struct {
	store state.Store

	mu sync.RWMutex
	by map[int64]runInfo
}

func newRunCache(store state.Store) *runCache {
	return &runCache{store: store, by: map[int64]runInfo{}}
}

func (c *runCache) get(ctx context.Context, id int64) (runInfo, error) {
	c.mu.RLock()
	r, ok := c.by[id]
	c.mu.RUnlock()
	if ok {
		return r, nil
	}
	run, err := c.store.Run(ctx, id)
	if err != nil {
		return runInfo{}, err
	}
	cursors, err := c.store.Cursors(ctx, run.AccountID)
	if err != nil {
		return runInfo{}, err
	}
	r = runInfo{run, cursors}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Two workers may read at once; all jobs must see the same cursors.
	if first, ok := c.by[id]; ok {
		return first, nil
	}
	if len(c.by) >= runCacheSize {
		// Runs that ended in another process are not taken out.
		clear(c.by)
	}
	c.by[id] = r
	return r, nil
}

func (c *runCache) forget(id int64) {
	c.mu.Lock()
	delete(c.by, id)
	c.mu.Unlock()
}
