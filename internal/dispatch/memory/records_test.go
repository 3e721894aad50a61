package memory

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"unsafe"
)

func testRand(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	if s := os.Getenv("SLUICE_TEST_SEED"); s != "" {
		given, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("SLUICE_TEST_SEED=%q is not a number: %v", s, err)
		}
		seed = given
	}
	t.Logf("SLUICE_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestRecordIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(record{}); size != 32 {
		t.Fatalf("a record has %d bytes, want 32", size)
	}
}

// The records are compared with a map while jobs come and go, in patterns of
// ids that a weak hash would not like.
func TestRecordsFindWhatTheyHold(t *testing.T) {
	patterns := map[string]func(int64) int64{
		"neighbours":    func(i int64) int64 { return i },
		"negative":      func(i int64) int64 { return -i },
		"strides of 8":  func(i int64) int64 { return i * 8 },
		"high bits":     func(i int64) int64 { return i << 44 },
		"strides of 2k": func(i int64) int64 { return i << 11 },
	}
	for name, id := range patterns {
		t.Run(name, func(t *testing.T) {
			random := testRand(t)
			r := newRecords()
			want := make(map[int64]slot)
			for range 50_000 {
				job := id(random.Int64N(8192))
				found := r.find(job)
				if found != want[job] {
					t.Fatalf("job %d is in slot %d, want %d", job, found, want[job])
				}
				if found == 0 {
					want[job] = r.add(job)
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
