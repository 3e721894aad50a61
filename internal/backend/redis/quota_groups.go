package redis

import (
	"sync"

	"sluice/internal/batch"
)

// mostIdle is for how many owners a group is kept that nobody uses.
const mostIdle = 1024

// ownerGroup lets concurrent callers of one owner share round trips.
type ownerGroup struct {
	owner   string
	users   int
	reserve *batch.Group[quotaAsk]
	settle  *batch.Group[returnedPermit]
}

// ownerGroups are those of all owners. Owners that nobody asks for are forgotten
// once there are many.
type ownerGroups struct {
	make func(owner string) *ownerGroup

	mu  sync.Mutex
	all map[string]*ownerGroup
}

// enter returns the owner's group, which stays until it is left. A caller who
// is alone in it has nobody to share a round trip with.
func (g *ownerGroups) enter(owner string) (one *ownerGroup, alone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one = g.all[owner]
	if one == nil {
		one = g.make(owner)
		if g.all == nil {
			g.all = make(map[string]*ownerGroup)
		}
		g.all[owner] = one
	}
	one.users++
	return one, one.users == 1
}

func (g *ownerGroups) leave(one *ownerGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one.users--
	if one.users == 0 && len(g.all) > mostIdle {
		delete(g.all, one.owner)
	}
}
