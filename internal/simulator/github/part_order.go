package github

import (
	"slices"
	"sync"
)

// partOrder is what parts are ordered by.
type partOrder int

const (
	byPlace partOrder = iota
	byCreation
	byChange
)

// partRef is a part in an order.
type partRef struct {
	at      int64 // what it is ordered by
	updated int64
	serial  int32
}

// orderKey names an order of the parts of a repository.
type orderKey struct {
	repo  int64
	kind  partKind
	order partOrder
}

// partOrders remembers the orders of what nobody has changed: a long listing would
// otherwise be sorted anew for each of its pages.
type partOrders struct {
	mu     sync.Mutex
	orders map[orderKey][]partRef
}

// longListing is how many parts a listing has whose order is remembered.
const longListing = 1000

// ordered lists the parts of a kind that changed at an instant or later, in an order.
func (r *repo) ordered(k partKind, order partOrder, since int64) []partRef {
	list := r.inOrder(k, order)
	switch {
	case since == 0:
		return list
	case order == byChange:
		from, _ := slices.BinarySearchFunc(list, since, func(p partRef, at int64) int { return cmp64(p.at, at) })
		return list[from:]
	}
	return slices.DeleteFunc(slices.Clone(list), func(p partRef) bool { return p.updated < since })
}

func (r *repo) inOrder(k partKind, order partOrder) []partRef {
	if r.lastPart(k) < longListing || r.overlay.parts[k] != nil || len(r.overlay.removed) > 0 {
		return r.sortedParts(k, order)
	}
	o, key := &r.world.orders, orderKey{r.id, k, order}
	o.mu.Lock()
	defer o.mu.Unlock()
	list, ok := o.orders[key]
	if !ok {
		list = r.sortedParts(k, order)
		if o.orders == nil {
			o.orders = map[orderKey][]partRef{}
		}
		o.orders[key] = list
	}
	return list
}

func (r *repo) sortedParts(k partKind, order partOrder) []partRef {
	list := make([]partRef, 0, r.lastPart(k))
	for serial := range r.lastPart(k) {
		p, ok := r.partAt(k, serial, latest)
		if !ok {
			continue
		}
		ref := partRef{updated: p.updated, serial: int32(serial)} //nolint:gosec // there are four million at most
		switch order {
		case byCreation:
			ref.at = p.created
		case byChange:
			ref.at = p.updated
		}
		list = append(list, ref)
	}
	if order != byPlace {
		slices.SortFunc(list, func(a, b partRef) int {
			if c := cmp64(a.at, b.at); c != 0 {
				return c
			}
			return int(a.serial - b.serial)
		})
	}
	return list
}
