package redis

import (
	"time"

	"sluice/internal/refresh"
)

// holding is a partition that a consumer has. The consumer's mutex guards it.
type holding struct {
	number int32
	// claim tells this ownership from every other.
	claim int64
	// lost is closed when it ends.
	lost chan struct{}
	// read is the offset up to which entries were read, queue what was read and
	// not handed out.
	read  int64
	queue []refresh.LogRecord
	// out is what was handed out from the first record that is not done on,
	// early what of it is done already.
	out   []int64
	early map[int64]struct{}
	// done is up to where everything is dealt with, saved what of that Redis
	// knows; told is what it knows of what was handed out.
	done, saved, told int64
	// leaving is set when the partition is about to be given up: nothing more of
	// it is read or handed out. It waits for what is under way, until leaveBy.
	leaving bool
	leaveBy time.Time
}

// lose tells those who have taken records that they are somebody else's. It may
// be called twice.
func (h *holding) lose() {
	select {
	case <-h.lost:
	default:
		close(h.lost)
	}
}

// setLeaving says whether the partition is about to be given up. What was read
// ahead is dropped then, so that it takes no room; if the partition stays after
// all, it is read again.
func (h *holding) setLeaving(leaving bool, by time.Time) {
	h.leaving, h.leaveBy = leaving, by
	if leaving {
		h.queue, h.read = nil, h.handed()
	}
}

// handed is the offset up to which records were handed out.
func (h *holding) handed() int64 {
	if n := len(h.out); n > 0 {
		return h.out[n-1]
	}
	return h.done
}

// take hands out up to n records.
func (h *holding) take(n int) []refresh.LogRecord {
	n = min(n, len(h.queue))
	records := h.queue[:n:n]
	h.queue = h.queue[n:]
	for i := range records {
		h.out = append(h.out, records[i].Offset)
	}
	return records
}

// finish notes that a record is dealt with, and says whether the position has
// moved.
func (h *holding) finish(offset int64) bool {
	if len(h.out) == 0 || offset < h.out[0] || offset > h.out[len(h.out)-1] {
		return false
	}
	if offset > h.out[0] {
		if h.early == nil {
			h.early = map[int64]struct{}{}
		}
		h.early[offset] = struct{}{}
		return false
	}
	h.done, h.out = h.out[0], h.out[1:]
	for len(h.out) > 0 {
		if _, ok := h.early[h.out[0]]; !ok {
			break
		}
		h.done = h.out[0]
		delete(h.early, h.done)
		h.out = h.out[1:]
	}
	return true
}
