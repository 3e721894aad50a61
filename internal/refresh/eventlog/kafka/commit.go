package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitInterval is how long positions gather before they are committed.
const commitInterval = 200 * time.Millisecond

// commitLoop commits soon after something was done.
func (c *consumer) commitLoop(ending context.Context) {
	defer close(c.stopped)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ending.Done():
			return
		case <-c.dirty:
		}
		pause.Reset(commitInterval)
		select {
		case <-ending.Done():
			return
		case <-pause.C:
		}
		// A commit that is cut off could be carried out after a later one.
		limited, cancel := c.log.limited(context.WithoutCancel(ending))
		err := c.commit(limited, nil, false)
		cancel()
		if err != nil && ending.Err() == nil {
			c.log.options.Log.Debug("kafka: positions are not committed, to be tried again", "topic", c.name, "error", err)
			select {
			case c.dirty <- struct{}{}:
			default:
			}
		}
	}
}

// giveUp commits the positions of partitions, all of them if none is named, and
// forgets them, whether or not that worked.
func (c *consumer) giveUp(ctx context.Context, numbers []int32) error {
	return c.commit(ctx, numbers, true)
}

// commit makes positions durable: those of the named partitions, or of all.
func (c *consumer) commit(ctx context.Context, numbers []int32, forget bool) error {
	c.committing.Lock()
	defer c.committing.Unlock()
	offsets, chosen := c.positions(numbers, forget)
	if len(offsets) == 0 {
		return nil
	}
	var failed error
	c.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{c.name: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
			failed = commitError(response, err)
		})
	if failed != nil {
		return failed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, position := range chosen {
		p.committed = p.position.Offset == position
	}
	return nil
}

// positions returns what is to be committed, and of which partitions it is.
func (c *consumer) positions(numbers []int32, forget bool) (map[int32]kgo.EpochOffset, map[*partition]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if numbers == nil {
		for number := range c.partitions {
			numbers = append(numbers, number)
		}
	}
	offsets, chosen := map[int32]kgo.EpochOffset{}, map[*partition]int64{}
	for _, number := range numbers {
		p := c.partitions[number]
		if p == nil {
			continue
		}
		if !p.committed {
			offsets[number] = p.position
			chosen[p] = p.position.Offset
		}
		if forget {
			delete(c.partitions, number)
		}
	}
	return offsets, chosen
}

// fenced tells whether a commit failed because the group has gone on without
// this consumer: the partitions are somebody else's, who does again what is not
// committed.
func fenced(err error) bool {
	return errors.Is(err, kerr.IllegalGeneration) || errors.Is(err, kerr.UnknownMemberID)
}

func commitError(response *kmsg.OffsetCommitResponse, err error) error {
	if err != nil {
		return err
	}
	for _, topic := range response.Topics {
		for _, one := range topic.Partitions {
			if err := kerr.ErrorForCode(one.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}
