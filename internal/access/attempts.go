package access

import (
	"container/list"
	"net/netip"
	"sync"
	"time"
)

const (
	// perAddress is how many wrong tokens an address has at once, and
	// addressPause how long it waits for each after them.
	perAddress   = 10
	addressPause = 6 * time.Second
	// overall is how many wrong tokens there may be at once from everywhere, and
	// overallPause how long each after them counts. While there are more, an
	// address has one.
	overall      = 100
	overallPause = 600 * time.Millisecond
	// mostAddresses bounds how many are remembered; those that failed longest ago
	// are forgotten.
	mostAddresses = 4096
)

// Attempts limits how often wrong tokens may be tried. An address that tried too
// many is not heard for a while, with whatever token; one that tried none always
// is, whatever the others do. It is safe for concurrent use.
type Attempts struct {
	now func() time.Time

	mu sync.Mutex
	// debts is until when the failures of an address count, by address, the one
	// that failed last at the front of order.
	debts map[netip.Addr]*list.Element
	order *list.List
	all   time.Time
}

type debt struct {
	from  netip.Addr
	until time.Time
}

// NewAttempts returns a limit by a clock.
func NewAttempts(now func() time.Time) *Attempts {
	return &Attempts{now: now, debts: map[netip.Addr]*list.Element{}, order: list.New()}
}

// Network is what counts as one address: whoever has an IPv6 address has the
// others of its network as well.
func Network(from netip.Addr) netip.Addr {
	from = from.Unmap().WithZone("")
	if from.Is6() {
		// 64 bits are never too many.
		prefix, _ := from.Prefix(64)
		return prefix.Addr()
	}
	return from
}

// Wait returns how long an address has to wait before it is heard; 0 if it need
// not.
func (a *Attempts) Wait(from netip.Addr) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	entry := a.debts[Network(from)]
	if entry == nil {
		return 0
	}
	now, burst := a.now(), perAddress
	if a.all.Sub(now) > overall*overallPause {
		burst = 1
	}
	// As many failures as the burst count until the burst's last one is over.
	return max(0, entry.Value.(*debt).until.Sub(now)-time.Duration(burst-1)*addressPause)
}

// Failed notes a wrong token.
func (a *Attempts) Failed(from netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	a.all = later(a.all, now).Add(overallPause)
	// A storm is over a minute after its end, however long it was.
	if most := now.Add(2 * overall * overallPause); a.all.After(most) {
		a.all = most
	}
	key := Network(from)
	entry := a.debts[key]
	if entry == nil {
		entry = a.order.PushFront(&debt{from: key})
		a.debts[key] = entry
	}
	a.order.MoveToFront(entry)
	d := entry.Value.(*debt)
	d.until = later(d.until, now).Add(addressPause)
	for a.order.Len() > mostAddresses || a.over(a.order.Back(), now) {
		oldest := a.order.Remove(a.order.Back()).(*debt)
		delete(a.debts, oldest.from)
	}
}

// over says whether nothing of an address counts any more.
func (a *Attempts) over(entry *list.Element, now time.Time) bool {
	return entry != nil && !entry.Value.(*debt).until.After(now)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
