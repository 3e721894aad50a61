package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/domain"
	"sluice/internal/redisdb"
)

const (
	// saveGap is how long positions gather before they are saved.
	saveGap = 100 * time.Millisecond
	// retryPause is how long after a failure it is tried again.
	retryPause = time.Second
)

// keep keeps a consumer a member of its group, and its positions saved.
func (c *Consumer) keep(ctx context.Context) {
	beat := time.NewTimer(c.log.lease / 3)
	defer beat.Stop()
	for ctx.Err() == nil {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-c.moved:
			redisdb.Pause(ctx, saveGap)
			err = c.commit(ctx)
		case <-c.stir:
			err = c.share(ctx)
			beat.Reset(c.log.lease / 3)
		case <-beat.C:
			err = c.share(ctx)
			beat.Reset(c.log.lease / 3)
		}
		if err != nil && ctx.Err() == nil {
			c.log.log.Debug("keep a place in the event log", "topic", string(c.topic), "group", c.group, "error", err)
			redisdb.Pause(ctx, retryPause)
			redisdb.Notify(c.stir)
			redisdb.Notify(c.moved)
		}
	}
}

// share asks for the consumer's share of the partitions, and gives up what
// others should have: first it saves how far it is with them.
func (c *Consumer) share(ctx context.Context) error {
	give, err := c.ask(ctx, "stay")
	if err != nil || len(give) == 0 {
		return err
	}
	if err := c.commit(ctx); err != nil {
		return err
	}
	_, err = c.ask(ctx, "stay", give...)
	return err
}

// leave gives everything up.
func (c *Consumer) leave(ctx context.Context) error {
	_, err := c.ask(ctx, "leave")
	return err
}

// ask calls the script that shares partitions out and takes note of its answer.
func (c *Consumer) ask(ctx context.Context, what string, released ...string) (give []string, err error) {
	args := append([]string{c.name, strconv.FormatInt(c.log.lease.Milliseconds(), 10), what}, released...)
	m, err := c.log.run(ctx, scripts.share, c.topic, c.group, args...)
	if err != nil {
		return nil, err
	}
	parts, err := m.ToArray()
	if err != nil || len(parts) != 2 {
		return nil, domain.Errorf(domain.CodeInternal, "the shares cannot be understood: %v", err)
	}
	if give, err = parts[0].AsStrSlice(); err != nil {
		return nil, domain.Errorf(domain.CodeInternal, "the shares cannot be understood: %w", err)
	}
	have, err := parseHoldings(parts[1])
	if err != nil {
		return nil, err
	}
	c.hold(have, give)
	return give, nil
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
		h := &holding{number: int32(number), claim: claim}
		if words[2] != "" {
			if h.done, err = offsetOf(words[2]); err != nil {
				return nil, err
			}
		}
		h.read, h.saved = h.done, h.done
		have = append(have, h)
	}
	return have, nil
}

// hold replaces what the consumer has. What it had before by the same claim
// stays as it was; what it is to give up is not handed out any more.
func (c *Consumer) hold(have []*holding, give []string) {
	leaving := map[string]bool{}
	for _, number := range give {
		leaving[number] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := len(have) != len(c.holdings)
	c.ahead.forget()
	for i, h := range have {
		if old := c.holding(h.number); old != nil && old.claim == h.claim {
			have[i] = old
		} else {
			changed = true
		}
		have[i].leaving = leaving[strconv.Itoa(int(h.number))]
		c.ahead.add(have[i].queue)
	}
	c.holdings = have
	c.tell()
	if changed {
		c.interrupt()
		redisdb.Notify(c.room)
	}
}

// commit saves positions that have moved. If one of the partitions is somebody
// else's, it is time to look who has what.
func (c *Consumer) commit(ctx context.Context) error {
	args := []string{c.name}
	moved := c.unsaved()
	for h, done := range moved {
		args = append(args, strconv.Itoa(int(h.number)), strconv.FormatInt(h.claim, 10), idOf(done))
	}
	if len(moved) == 0 {
		return nil
	}
	m, err := c.log.run(ctx, scripts.commit, c.topic, c.group, args...)
	if err != nil {
		return err
	}
	lost, err := m.AsInt64()
	if err != nil {
		return domain.Errorf(domain.CodeInternal, "the answer to positions cannot be understood: %w", err)
	}
	if lost > 0 {
		redisdb.Notify(c.stir)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for h, done := range moved {
		h.saved = done
	}
	return nil
}

func (c *Consumer) unsaved() map[*holding]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	moved := map[*holding]int64{}
	for _, h := range c.holdings {
		if h.done > h.saved {
			moved[h] = h.done
		}
	}
	return moved
}
