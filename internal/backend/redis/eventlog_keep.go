package redis

import (
	"context"
	"strconv"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
)

const (
	// saveGap is how long positions gather before they are saved.
	saveGap = 100 * time.Millisecond
)

// keep keeps a consumer a member of its group, and its positions saved. It wakes
// when it is told to, and when something is known to be due: the next renewal,
// the end of another's lease, the end of waiting for what is under way.
func (c *Consumer) keep(ctx context.Context) {
	timer := time.NewTimer(time.Until(c.nextLook()))
	defer timer.Stop()
	for ctx.Err() == nil {
		work := c.share
		select {
		case <-ctx.Done():
			return
		case <-c.moved:
			backoff.Sleep(ctx, saveGap)
			work = c.save
		case <-c.stir:
		case <-timer.C:
		}
		if err := c.inTime(ctx, work); err != nil && ctx.Err() == nil {
			c.log.log.Debug("keep a place in the event log", "topic", string(c.topic), "group", c.group, "error", err)
			backoff.Sleep(ctx, min(retryPause, c.log.lease/6))
			notify(c.stir)
			notify(c.moved)
		}
		timer.Reset(time.Until(c.nextLook()))
	}
}

// inTime does something that must not take so long that there is no second try
// before the lease ends.
func (c *Consumer) inTime(ctx context.Context, work func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, min(scriptTime, c.log.lease/3))
	defer cancel()
	return work(limited)
}

// save saves positions, and hands over what that has made ready for it.
func (c *Consumer) save(ctx context.Context) error {
	if err := c.commit(ctx); err != nil {
		return err
	}
	return c.handOver(ctx)
}

// commit saves positions that have moved, and tells what was handed out. If one of the partitions is somebody
// else's, it is time to look who has what.
func (c *Consumer) commit(ctx context.Context) error {
	args := []string{c.name}
	moved := c.unsaved()
	for h, to := range moved {
		done := ""
		if to.done > h.saved {
			done = idOf(to.done)
		}
		args = append(args, strconv.Itoa(int(h.number)), strconv.FormatInt(h.claim, 10), done, idOf(to.handed))
	}
	if len(moved) == 0 {
		return nil
	}
	m, err := c.log.run(ctx, eventLogScripts.commit, c.topic, c.group, args...)
	if err != nil {
		return err
	}
	lost, err := m.AsInt64()
	if err != nil {
		return domain.Errorf(domain.CodeInternal, "the answer to positions cannot be understood: %w", err)
	}
	if lost > 0 {
		notify(c.stir)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for h, to := range moved {
		h.saved, h.told = to.done, to.handed
	}
	return nil
}

// progress is how far a consumer is with a partition.
type progress struct{ done, handed int64 }

func (c *Consumer) unsaved() map[*holding]progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	moved := map[*holding]progress{}
	for _, h := range c.holdings {
		if handed := h.handed(); h.done > h.saved || handed > h.told {
			moved[h] = progress{h.done, handed}
		}
	}
	return moved
}
