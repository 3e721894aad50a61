package engine

import (
	"sync"

	"sluice/internal/domain"
)

// rowCache holds the rows of jobs that this engine created a moment ago, so
// that leasing them costs no read. It is bounded, forgets the oldest first, and
// need not be right: a claim names the attempt it saw.
type rowCache struct {
	mu    sync.Mutex
	byID  map[int64]domain.Job
	order []int64 // a ring of the ids in by, and of some that were taken
	next  int
}

const rowCacheSize = 4096

func newRowCache() *rowCache {
	return &rowCache{byID: map[int64]domain.Job{}, order: make([]int64, rowCacheSize)}
}

func (c *rowCache) add(jobs []domain.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range jobs {
		delete(c.byID, c.order[c.next])
		c.order[c.next] = j.ID
		c.next = (c.next + 1) % rowCacheSize
		c.byID[j.ID] = j
	}
}

// pop returns a row once; the next lease of the job reads the truth.
func (c *rowCache) pop(id int64) (domain.Job, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j, ok := c.byID[id]
	delete(c.byID, id)
	return j, ok
}
