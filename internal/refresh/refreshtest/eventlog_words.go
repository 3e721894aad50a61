package refreshtest

import (
	"fmt"
	"slices"
	"strconv"

	"sluice/internal/refresh"
)

// keys is how many keys spread has: enough for every partition to have some.
const keys = 400

// message is the i-th message of many; their keys take turns.
func message(i int) refresh.Message {
	return refresh.Message{Key: fmt.Sprintf("source/key-%d", i%keys), Value: []byte(strconv.Itoa(i))}
}

// spread returns the messages from the given number on.
func spread(from, n int) []refresh.Message {
	out := make([]refresh.Message, n)
	for i := range out {
		out[i] = message(from + i)
	}
	return out
}

// sameKey returns messages of one key.
func sameKey(key string, from, n int) []refresh.Message {
	out := spread(from, n)
	for i := range out {
		out[i].Key = key
	}
	return out
}

// number is what message made the value from.
func number(r refresh.LogRecord) int {
	n, err := strconv.Atoi(string(r.Value))
	if err != nil {
		return -1
	}
	return n
}

func numbers(records []refresh.LogRecord) []int {
	out := make([]int, len(records))
	for i, r := range records {
		out[i] = number(r)
	}
	return out
}

func sortedNumbers(records []refresh.LogRecord) []int {
	return slices.Sorted(slices.Values(numbers(records)))
}

// count returns the numbers from the given one on.
func count(from, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = from + i
	}
	return out
}

func texts(records []refresh.LogRecord) (out []string) {
	for _, r := range records {
		out = append(out, fmt.Sprintf("%d@%d/%d", number(r), r.Partition, r.Offset))
	}
	return out
}

func byPartition(records []refresh.LogRecord) map[int32][]refresh.LogRecord {
	out := map[int32][]refresh.LogRecord{}
	for _, r := range records {
		out[r.Partition] = append(out[r.Partition], r)
	}
	return out
}

// inOrder checks that every partition's offsets grow.
func (x *logFixture) inOrder(records []refresh.LogRecord) {
	x.Helper()
	for p, part := range byPartition(records) {
		for i := 1; i < len(part); i++ {
			if part[i].Offset <= part[i-1].Offset {
				x.Fatalf("partition %d: %s comes before %s", p, texts(part[i-1:i]), texts(part[i:i+1]))
			}
		}
	}
}

// expect takes exactly the messages of these numbers, in whatever order of
// partitions.
func (x *logFixture) expect(c refresh.LogConsumer, want []int) []refresh.LogRecord {
	x.Helper()
	got := x.take(c, len(want))
	want = slices.Sorted(slices.Values(want))
	if have := sortedNumbers(got); !slices.Equal(have, want) {
		x.Fatalf("took %v, want %v", have, want)
	}
	x.inOrder(got)
	return got
}
