package redis

import (
	"sync"
)

// mostPendingExpiries bounds the announcements that wait to be acted on. What is
// left out is found by the look for what was missed.
const mostPendingExpiries = 100_000

// pendingExpiries are the announcements that a process has not acted on yet. They
// may concern what another process has taken meanwhile.
type pendingExpiries struct {
	// wake is called when there is something to do.
	wake func()

	mu    sync.Mutex
	ids   []string
	known map[string]struct{}
	// missed is set when announcements may have been missed.
	missed bool
}

func newPendingExpiries(wake func()) pendingExpiries {
	return pendingExpiries{wake: wake, known: make(map[string]struct{})}
}

// add notes an announcement.
func (h *pendingExpiries) add(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.known[id]; known {
		return
	}
	if len(h.ids) >= mostPendingExpiries {
		h.missed = true
		return
	}
	h.known[id] = struct{}{}
	h.ids = append(h.ids, id)
	h.wake()
}

// next returns announcements to act on, up to n, in the order in which they
// came.
func (h *pendingExpiries) next(n int) []string {
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
func (h *pendingExpiries) miss() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.missed = true
	h.wake()
}

// takeMissed says whether something was missed since it was last asked. While
// there is much to do that has to wait: more would only be missed again.
func (h *pendingExpiries) takeMissed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.missed || len(h.ids) >= mostPendingExpiries/2 {
		return false
	}
	h.missed = false
	return true
}
