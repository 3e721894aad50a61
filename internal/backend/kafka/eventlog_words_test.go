package kafka_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"sluice/internal/backend/kafka"
	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// patience ends what hangs: every wait should end by itself.
const patience = 5 * time.Minute

// join lets a consumer in until the end of the test.
func join(t *testing.T, log *kafka.EventLog) refresh.LogConsumer {
	t.Helper()
	c, err := log.Join(t.Context(), refresh.HighWorkers, refresh.TopicHigh)
	if err != nil {
		t.Fatalf("join: %v", err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

// take takes exactly so many records. A consumer that has lived through an
// outage may tell of it first.
func take(t *testing.T, c refresh.LogConsumer, want int) (got []refresh.LogRecord) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(got) < want {
		records, err := c.Take(ctx, want-len(got))
		if err != nil && (ctx.Err() != nil || domain.CodeOf(err) != domain.CodeUnavailable) {
			t.Fatalf("took %d of %d records and then: %v", len(got), want, err)
		}
		got = append(got, records...)
	}
	return got
}

// messages are so many, from a number on, of so many keys that take turns.
func messages(from, n, keys int) []refresh.Message {
	out := make([]refresh.Message, n)
	for i := range out {
		out[i] = refresh.Message{Key: fmt.Sprintf("key-%d", (from+i)%keys), Value: []byte(strconv.Itoa(from + i))}
	}
	return out
}

// sighting is one handing out of a message.
type sighting struct {
	key    string
	number int
}

// journal knows what was handed out, in the order of time.
type journal struct {
	seen  map[int]bool
	last  map[string]int
	twice int
}

func newJournal() *journal { return &journal{seen: map[int]bool{}, last: map[string]int{}} }

// note checks that the first handing out of each message goes in order of its
// key; later ones repeat what nobody had done.
func (j *journal) note(t *testing.T, s sighting) {
	t.Helper()
	if j.seen[s.number] {
		j.twice++
		return
	}
	j.seen[s.number] = true
	if before, ok := j.last[s.key]; ok && s.number < before {
		t.Errorf("%s: %d comes first after %d", s.key, s.number, before)
	}
	j.last[s.key] = s.number
}

func sightingOf(t *testing.T, r refresh.LogRecord) sighting {
	t.Helper()
	number, err := strconv.Atoi(string(r.Value))
	if err != nil {
		t.Fatalf("record %+v: %v", r, err)
	}
	return sighting{r.Key, number}
}

// caughtUp waits until the group has dealt with everything.
func caughtUp(t *testing.T, log *kafka.EventLog) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for {
		lag, err := log.Lag(ctx, refresh.HighWorkers, refresh.TopicHigh)
		if err == nil && lag.Records == 0 {
			return
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			t.Fatalf("the group still lags by %+v (%v)", lag, err)
		}
	}
}
