package redis

import (
	"sync"

	"sluice/internal/redisdb"
)

// mostHeard bounds the announcements that wait to be acted on. What is left out
// is found by the look for what was missed.
const mostHeard = 100_000

// heard are the announcements that a process has not acted on yet. They may
// concern what another process has taken meanwhile.
type heard struct {
	// news has a value when there is something to do.
	news chan struct{}

	mu    sync.Mutex
	ids   []string
	known map[string]struct{}
	// missed is set when announcements may have been missed.
	missed bool
}

func newHeard() heard {
	return heard{news: make(chan struct{}, 1), known: make(map[string]struct{})}
}

// add notes an announcement.
func (h *heard) add(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.known[id]; known {
		return
	}
	if len(h.ids) >= mostHeard {
		h.missed = true
		return
	}
	h.known[id] = struct{}{}
	h.ids = append(h.ids, id)
	redisdb.Notify(h.news)
}

// next returns announcements to act on, up to n, in the order in which they
// came.
func (h *heard) next(n int) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	n = min(n, len(h.ids))
	ids := h.ids[:n:n]
	if h.ids = h.ids[n:]; len(h.ids) == 0 {
		h.ids = nil
	}
	for _, id := range ids {
		delete(h.known, id)
	}
	return ids
}

// miss notes that announcements may have been missed.
func (h *heard) miss() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missed = true
	redisdb.Notify(h.news)
}

// takeMissed says whether something was missed since it was last asked. While
// there is much to do that has to wait: more would only be missed again.
func (h *heard) takeMissed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.missed || len(h.ids) >= mostHeard/2 {
		return false
	}
	h.missed = false
	return true
}
