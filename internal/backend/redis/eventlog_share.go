package redis

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/domain"
)

// What a consumer asks for when it asks for its share.
const (
	askJoin  = "join"
	askStay  = "stay"
	askLeave = "leave"
)

// share renews the lease, asks for the consumer's share of the partitions, and
// hands over what others should have.
func (c *Consumer) share(ctx context.Context) error {
	if err := c.ask(ctx, askStay); err != nil {
		return err
	}
	return c.handOver(ctx)
}

// handOver gives up the partitions that others should have as soon as nothing
// of them is under way any more. First it saves how far it is with them.
func (c *Consumer) handOver(ctx context.Context) error {
	for {
		ready := c.ready(time.Now())
		if len(ready) == 0 {
			return nil
		}
		if err := c.commit(ctx); err != nil {
			return err
		}
		if err := c.ask(ctx, askStay, ready...); err != nil {
			return err
		}
	}
}

// ready returns the partitions that can be handed over. What is under way for
// longer than a lease does not keep a partition from the others: so they would
// have it, too, if this consumer were dead.
func (c *Consumer) ready(now time.Time) (numbers []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.holdings {
		if h.leaving && (len(h.out) == 0 || !now.Before(h.leaveBy)) {
			numbers = append(numbers, strconv.Itoa(int(h.number)))
		}
	}
	return numbers
}

// nextLook is when to ask again if nothing happens before.
func (c *Consumer) nextLook() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.look
	for _, h := range c.holdings {
		if h.leaving && h.leaveBy.Before(next) {
			next = h.leaveBy
		}
	}
	return next
}

// ask calls the script that shares partitions out and takes note of its answer.
func (c *Consumer) ask(ctx context.Context, what string, released ...string) error {
	args := append([]string{c.name, strconv.FormatInt(c.log.lease.Milliseconds(), 10), what}, released...)
	asked := time.Now()
	m, err := c.log.run(ctx, eventLogScripts.share, c.topic, c.group, args...)
	if err != nil {
		return err
	}
	s, err := parseShare(m)
	if err != nil {
		return err
	}
	c.hold(asked, s)
	return nil
}

// share is what a consumer is to have.
type share struct {
	have []*holding
	// surplus is how many of them it should give up.
	surplus int
	// dead is in how long the first of the other members counts as dead unless
	// it is heard of; negative if there are none.
	dead time.Duration
}

func parseShare(m rueidis.RedisMessage) (s share, err error) {
	parts, err := m.ToArray()
	if err != nil || len(parts) != 3 {
		return s, domain.Errorf(domain.CodeInternal, "the shares cannot be understood: %v", err)
	}
	surplus, err := parts[0].AsInt64()
	if err != nil {
		return s, domain.Errorf(domain.CodeInternal, "the surplus cannot be understood: %w", err)
	}
	dead, err := parts[1].AsInt64()
	if err != nil {
		return s, domain.Errorf(domain.CodeInternal, "the end of a lease cannot be understood: %w", err)
	}
	s.surplus, s.dead = int(surplus), time.Duration(dead)*time.Millisecond
	s.have, err = parseHoldings(parts[2])
	return s, err
}

// parseHoldings reads partition, claim and position of each.
func parseHoldings(m rueidis.RedisMessage) (have []*holding, err error) {
	words, err := m.AsStrSlice()
	if err != nil {
		return nil, domain.Errorf(domain.CodeInternal, "the shares cannot be understood: %w", err)
	}
	for ; len(words) >= 3; words = words[3:] {
		number, err := strconv.ParseInt(words[0], 10, 32)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInternal, "a partition cannot be understood: %w", err)
		}
		claim, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInternal, "a claim cannot be understood: %w", err)
		}
		h := &holding{number: int32(number), claim: claim, lost: make(chan struct{})}
		if words[2] != "" {
			if h.done, err = offsetOf(words[2]); err != nil {
				return nil, err
			}
		}
		h.read, h.saved, h.told = h.done, h.done, h.done
		have = append(have, h)
	}
	return have, nil
}

// hold replaces what the consumer has by what it was told when it asked. What it
// had before by the same claim stays as it was.
func (c *Consumer) hold(asked time.Time, s share) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Redis counts from a little later on: here the lease ends first.
	c.until = asked.Add(c.log.lease)
	c.look = asked.Add(c.log.lease / 3)
	if dead := time.Now().Add(s.dead); s.dead >= 0 && dead.Before(c.look) {
		c.look = dead
	}
	changed := len(s.have) != len(c.holdings)
	kept := map[*holding]bool{}
	for i, h := range s.have {
		if old := c.holding(h.number); old != nil && old.claim == h.claim {
			s.have[i], kept[old] = old, true
		} else {
			changed = true
		}
	}
	for _, old := range c.holdings {
		if !kept[old] {
			old.lose()
		}
	}
	c.holdings = s.have
	if c.part(s.surplus) {
		changed = true
	}
	c.ahead.forget()
	for _, h := range c.holdings {
		c.ahead.add(h.queue)
	}
	c.tell()
	if changed {
		c.interrupt()
		notify(c.room)
	}
}

// part chooses which partitions to give up, and says whether that is a change:
// those that were chosen before, and then those with the least under way. The
// caller holds the lock.
func (c *Consumer) part(surplus int) (changed bool) {
	order := slices.Clone(c.holdings)
	slices.SortStableFunc(order, func(a, b *holding) int {
		if a.leaving != b.leaving {
			if a.leaving {
				return -1
			}
			return 1
		}
		return cmp.Compare(len(a.out), len(b.out))
	})
	for i, h := range order {
		if leaving := i < surplus; leaving != h.leaving {
			changed = true
			h.setLeaving(leaving, time.Now().Add(c.log.lease))
		}
	}
	return changed
}

// concerns says whether a message to the group is for a consumer: it names those
// whose share has changed; an empty one is for everybody.
func concerns(text, name string) bool {
	return text == "" || slices.Contains(strings.Fields(text), name)
}
