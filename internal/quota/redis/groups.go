package redis

import (
	"sync"

	"sluice/internal/batch"
)

// mostIdle is for how many owners a group is kept that nobody uses.
const mostIdle = 1024

// group lets concurrent callers of one owner share round trips.
type group struct {
	owner   string
	users   int
	reserve *batch.Group[asked]
	settle  *batch.Group[given]
}

// groups are those of all owners. Owners that nobody asks for are forgotten
// once there are many.
type groups struct {
	make func(owner string) *group

	mu  sync.Mutex
	all map[string]*group
}

// enter returns the owner's group, which stays until it is left. A caller who
// is alone in it has nobody to share a round trip with.
func (g *groups) enter(owner string) (one *group, alone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one = g.all[owner]
	if one == nil {
		one = g.make(owner)
		if g.all == nil {
			g.all = make(map[string]*group)
		}
		g.all[owner] = one
	}
	one.users++
	return one, one.users == 1
}

func (g *groups) leave(one *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one.users--
	if one.users == 0 && len(g.all) > mostIdle {
		delete(g.all, one.owner)
	}
}
