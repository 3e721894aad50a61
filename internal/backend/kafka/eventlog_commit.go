package kafka

import (
	"context"
	"errors"
	"strconv"
	"strings"
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
			c.commitSoon()
		}
	}
}

// giveUp commits the positions of partitions, all of them if none is named, and
// forgets them, whether or not that worked.
func (c *consumer) giveUp(ctx context.Context, numbers []int32) error {
	return c.commit(ctx, numbers, true)
}

// commit makes positions durable: those of the named partitions, or of all. Beside
// each it notes up to where records were taken, for those who count what is left.
func (c *consumer) commit(ctx context.Context, numbers []int32, forget bool) error {
	c.committing.Lock()
	defer c.committing.Unlock()
	chosen := c.positions(numbers, forget)
	if len(chosen) == 0 {
		return nil
	}
	offsets := make(map[int32]kgo.EpochOffset, len(chosen))
	for number, p := range chosen {
		offsets[number] = p.position
	}
	noting := kgo.PreCommitFnContext(ctx, func(request *kmsg.OffsetCommitRequest) error {
		for i := range request.Topics {
			parts := request.Topics[i].Partitions
			for j := range parts {
				note := takenNote(chosen[parts[j].Partition].next)
				parts[j].Metadata = &note
			}
		}
		return nil
	})
	var failed error
	c.client.CommitOffsetsSync(noting, map[string]map[int32]kgo.EpochOffset{c.name: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
			failed = commitError(response, err)
		})
	if failed != nil {
		return failed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range chosen {
		p.of.committed = p.of.position.Offset == p.position.Offset && p.of.next == p.next
	}
	return nil
}

// progress is how far a consumer is with a partition.
type progress struct {
	of       *partition
	position kgo.EpochOffset
	next     int64
}

// positions returns what is to be committed, by partition.
func (c *consumer) positions(numbers []int32, forget bool) map[int32]*progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	if numbers == nil {
		for number := range c.partitions {
			numbers = append(numbers, number)
		}
	}
	chosen := map[int32]*progress{}
	for _, number := range numbers {
		p := c.partitions[number]
		if p == nil {
			continue
		}
		if forget && p.next > p.position.Offset {
			// What was taken and is not done is to be taken again.
			p.next, p.committed = p.position.Offset, false
		}
		if !p.committed {
			chosen[number] = &progress{of: p, position: p.position, next: p.next}
		}
		if forget {
			c.forget(number)
		}
	}
	return chosen
}

const takenPrefix = "taken "

// takenNote is what is noted beside a position.
func takenNote(next int64) string { return takenPrefix + strconv.FormatInt(next, 10) }

// takenUpTo reads such a note: the offset of the first record that nobody has
// taken, or the position if there is none.
func takenUpTo(position int64, note string) int64 {
	text, ok := strings.CutPrefix(note, takenPrefix)
	if next, err := strconv.ParseInt(text, 10, 64); ok && err == nil {
		return max(position, next)
	}
	return position
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
