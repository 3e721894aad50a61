package sqlite

import (
	"cmp"
	"slices"
)

// consumerGroup is the consumers that share a topic. The log's mutex guards it.
type consumerGroup struct {
	name    string
	topic   *topic
	members []*logConsumer
	// shares stand in the order of the topic's partitions.
	shares []partitionShare
}

// partitionShare is a partition as a group sees it.
type partitionShare struct {
	owner *logConsumer
	// claim tells this ownership from every other, lost is closed when it ends.
	claim int64
	lost  chan struct{}
	// done is up to where everything is dealt with, saved what of that is on
	// disk, next the offset that is handed out next.
	done, saved, next int64
	// early is what is done beyond that.
	early map[int64]struct{}
}

func newConsumerGroup(name string, t *topic) *consumerGroup {
	return &consumerGroup{name: name, topic: t, shares: make([]partitionShare, len(t.partitions))}
}

// resetTo sets a share to what is on disk.
func (s *partitionShare) resetTo(done int64) { s.done, s.saved, s.next = done, done, done+1 }

// take ends an ownership.
func (s *partitionShare) take() {
	if s.owner != nil {
		close(s.lost)
	}
	s.owner = nil
}

// taken is up to where records were handed out.
func (s *partitionShare) taken() int64 {
	if s.owner == nil {
		return s.done
	}
	return s.next - 1
}

// give lets a consumer have a share, from the first record that is not done.
func (l *EventLog) give(s *partitionShare, c *logConsumer) {
	s.take()
	l.claims++
	s.lost = make(chan struct{})
	s.owner, s.claim, s.next, s.early = c, l.claims, s.done+1, nil
}

// finish notes that a record is dealt with, and says whether the position has
// moved.
func (s *partitionShare) finish(offset int64) bool {
	if offset <= s.done || offset >= s.next {
		return false
	}
	if offset > s.done+1 {
		if s.early == nil {
			s.early = map[int64]struct{}{}
		}
		s.early[offset] = struct{}{}
		return false
	}
	s.done++
	for len(s.early) > 0 {
		if _, ok := s.early[s.done+1]; !ok {
			break
		}
		s.done++
		delete(s.early, s.done)
	}
	return true
}

// shareOut gives every member about as many partitions, moving as few as it
// can. The caller holds the lock.
func (l *EventLog) shareOut(g *consumerGroup) {
	has := map[*logConsumer]int{}
	for i := range g.shares {
		if owner := g.shares[i].owner; owner != nil {
			has[owner]++
		}
	}
	// Those who have more already keep what does not divide.
	order := slices.Clone(g.members)
	slices.SortStableFunc(order, func(a, b *logConsumer) int { return cmp.Compare(has[b], has[a]) })
	room := map[*logConsumer]int{}
	for i, c := range order {
		room[c] = len(g.shares) / len(order)
		if i < len(g.shares)%len(order) {
			room[c]++
		}
	}
	var free []*partitionShare
	for i := range g.shares {
		s := &g.shares[i]
		if room[s.owner] > 0 {
			room[s.owner]--
			continue
		}
		s.take()
		free = append(free, s)
	}
	for _, c := range order {
		for ; room[c] > 0; room[c]-- {
			l.give(free[0], c)
			free = free[1:]
		}
	}
	g.topic.tell()
}
