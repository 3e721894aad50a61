package memory

import (
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"sluice/internal/dispatch"
)

func TestRecordIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(record{}); size != 32 {
		t.Fatalf("a record has %d bytes, want 32", size)
	}
}

// The records are compared with a map while entries come and go, in patterns of
// ids that a weak hash would not like.
func TestRecordsFindWhatTheyHold(t *testing.T) {
	patterns := map[string]func(int64) string{
		"neighbours":    dispatch.JobID,
		"negative":      func(i int64) string { return strconv.FormatInt(-i, 10) },
		"strides of 8":  func(i int64) string { return dispatch.JobID(i * 8) },
		"strides of 10": func(i int64) string { return dispatch.JobID(i * 10) },
		"high bits":     func(i int64) string { return dispatch.JobID(i << 44) },
		"leading zero":  func(i int64) string { return "job:0" + strconv.FormatInt(i, 10) },
		"long numbers":  func(i int64) string { return "job:99999999999999" + strconv.FormatInt(1e5+i, 10) },
		"same ending":   func(i int64) string { return "timer:" + strconv.FormatInt(i, 10) + ":at:noon" },
		"one letter":    func(i int64) string { return string(rune(i)) },
		"same prefix":   func(i int64) string { return strings.Repeat("x", int(i%64)) + string(rune(i)) },
	}
	for name, id := range patterns {
		t.Run(name, func(t *testing.T) {
			random := testRand(t)
			r := newRecords()
			want := make(map[string]slot)
			for range 50_000 {
				job := id(random.Int64N(8192))
				found := r.find(job)
				if found != want[job] {
					t.Fatalf("%q is in slot %d, want %d", job, found, want[job])
				}
				if found == 0 {
					want[job] = r.add(job)
				} else if back := r.id(found); back != job {
					t.Fatalf("%q comes back as %q", job, back)
				} else if random.IntN(3) == 0 {
					r.drop(found)
					delete(want, job)
				}
			}
			if r.live != len(want) {
				t.Fatalf("%d records live, want %d", r.live, len(want))
			}
			if longest := longestChain(&r); longest > 24 {
				t.Errorf("%d of %d records share a bucket", longest, r.live)
			}
		})
	}
}

func longestChain(r *records) (longest int) {
	for _, s := range r.hash {
		length := 0
		for ; s != 0; s = r.at(s).same {
			length++
		}
		longest = max(longest, length)
	}
	return longest
}
