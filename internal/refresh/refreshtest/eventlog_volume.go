package refreshtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"sluice/internal/refresh"
)

var volumeCases = []logCase{
	{name: "TenThousandInBatches", check: tenThousandInBatches},
	{name: "ConcurrentPublishers", check: concurrentPublishers},
	{name: "LargeValues", check: largeValues},
	{name: "ConcurrentTakers", check: concurrentTakers},
}

func tenThousandInBatches(x *logFixture) {
	const n, size = 10_000, 250
	for from := 0; from < n; from += size {
		x.publish(spread(from, size)...)
	}
	c := x.joinHere()
	var all []record
	for len(all) < n {
		records := x.take(c, min(500, n-len(all)))
		x.done(c, records...)
		all = append(all, records...)
	}
	x.inOrder(all)
	if got := sortedNumbers(all); !slices.Equal(got, count(0, n)) {
		x.Errorf("took %d messages that are not those that were published", len(got))
	}
	// A key's messages are in the order they were published in.
	last := map[string]int{}
	for _, r := range all {
		if before, ok := last[r.Key]; ok && number(r) != before+keys {
			x.Fatalf("key %s: %d follows %d", r.Key, number(r), before)
		}
		last[r.Key] = number(r)
	}
}

func concurrentPublishers(x *logFixture) {
	const publishers, rounds, size = 8, 25, 20
	logs := []refresh.EventLog{x.EventLog, x.another()}
	var wg sync.WaitGroup
	for i := range publishers {
		wg.Go(func() {
			for round := range rounds {
				messages := sameKey(fmt.Sprintf("key-%d", i), (i*rounds+round)*size, size)
				if err := logs[i%2].Publish(x.Context(), refresh.TopicHigh, messages...); err != nil {
					x.Errorf("publish: %v", err)
				}
			}
		})
	}
	c := x.joinHere()
	records := x.expect(c, count(0, publishers*rounds*size))
	wg.Wait()
	last := map[string]int{}
	for _, r := range records {
		if before, ok := last[r.Key]; ok && number(r) != before+1 {
			x.Fatalf("key %s: %d follows %d", r.Key, number(r), before)
		}
		last[r.Key] = number(r)
	}
}

func largeValues(x *logFixture) {
	const n, size = 60, 300 << 10
	c := x.joinHere()
	value := func(i int) []byte {
		source := rand.NewChaCha8([32]byte{byte(i)})
		out := make([]byte, size)
		_, _ = source.Read(out) // it never fails
		return out
	}
	var messages []refresh.Message
	for i := range n {
		messages = append(messages, refresh.Message{Key: fmt.Sprint(i), Value: value(i)})
	}
	x.publish(messages[:n/2]...)
	for _, m := range messages[n/2:] {
		x.publish(m)
	}
	seen := map[string]bool{}
	for len(seen) < n {
		records := x.take(c, 1)
		for _, r := range records {
			var i int
			if _, err := fmt.Sscan(r.Key, &i); err != nil || seen[r.Key] || !bytes.Equal(r.Value, value(i)) {
				x.Fatalf("record of key %q has a wrong value of %d bytes (seen: %v)", r.Key, len(r.Value), seen[r.Key])
			}
			seen[r.Key] = true
		}
		x.done(c, records...)
	}
}

// concurrentTakers: a worker may take with several calls at once.
func concurrentTakers(x *logFixture) {
	const n, takers = 2000, 6
	c := x.joinHere()
	var mu sync.Mutex
	times := map[int]int{}
	var wg sync.WaitGroup
	for range takers {
		wg.Go(func() {
			for {
				mu.Lock()
				enough := len(times) >= n
				mu.Unlock()
				if enough {
					return
				}
				records, err := c.Take(x.Context(), 7)
				if err == nil {
					err = c.Done(x.Context(), records...)
				}
				if err != nil {
					x.Errorf("take and do: %v", err)
					return
				}
				mu.Lock()
				for _, r := range records {
					times[number(r)]++
				}
				last := len(times) >= n
				mu.Unlock()
				if last {
					// The others wait for something to take.
					x.publish(sameKey("end", n, 200)...)
				}
			}
		})
	}
	for from := 0; from < n; from += 100 {
		x.publish(spread(from, 100)...)
	}
	wg.Wait()
	for i := range n {
		if times[i] != 1 {
			x.Fatalf("message %d was taken %d times", i, times[i])
		}
	}
}
