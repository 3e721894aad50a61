package redis

import "context"

// AddDeadLetters ends every permit that is out for these owners, as the end of their
// lives would: a test cannot wait for that.
func (k *Quota) AddDeadLetters(ctx context.Context, owners ...string) error {
	for _, owner := range owners {
		if err := k.sweep(ctx, owner, 0); err != nil {
			return err
		}
	}
	return nil
}

// Key names all that is known about an owner.
func (k *Quota) Key(owner string) string { return k.key(owner) }

// ListKey names the list of owners.
func (k *Quota) ListKey() string { return k.listKey() }

// Groups is for how many owners a group is kept.
func (k *Quota) Groups() int {
	k.groups.mu.Lock()
	defer k.groups.mu.Unlock()
	return len(k.groups.all)
}

// MostIdle is for how many idle owners a group is kept.
const MostIdle = mostIdle
