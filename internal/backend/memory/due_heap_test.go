package memory

import (
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func second(n int) time.Time { return epoch.Add(time.Duration(n) * time.Second) }

// pops takes out everything that is due.
func pops(s *dueHeap[string], now time.Time) (keys []string) {
	for {
		key, _, ok := s.PopDue(now)
		if !ok {
			return keys
		}
		keys = append(keys, key)
	}
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("popped %v, want %v", got, want)
	}
}

func TestDueHeapPopsByTimeThenInsertion(t *testing.T) {
	s := newDueHeap[string]()
	s.Put("late", second(9))
	s.Put("one", second(5))
	s.Put("two", second(5))
	s.Put("early", second(1))
	s.Put("three", second(5))
	expect(t, pops(s, second(0)))
	expect(t, pops(s, second(5).Add(-1)), "early")
	expect(t, pops(s, second(5)), "one", "two", "three")
	if at, ok := s.Next(); !ok || !at.Equal(second(9)) {
		t.Fatalf("next is %v, %v", at, ok)
	}
	expect(t, pops(s, second(10)), "late")
	if _, ok := s.Next(); ok || s.Len() != 0 {
		t.Fatalf("%d are left", s.Len())
	}
}

func TestDueHeapReplaceAndRemove(t *testing.T) {
	s := newDueHeap[string]()
	for _, key := range []string{"a", "b", "c", "d"} {
		s.Put(key, second(5))
	}
	s.Put("a", second(5)) // goes behind its equals
	s.Put("d", second(1))
	s.Put("c", second(7))
	if !s.Remove("b") || s.Remove("b") || s.Remove("unknown") {
		t.Fatal("remove reports the wrong thing")
	}
	if at, ok := s.At("c"); !ok || !at.Equal(second(7)) {
		t.Fatalf("c is due at %v, %v", at, ok)
	}
	if _, ok := s.At("b"); ok {
		t.Fatal("a removed key has an instant")
	}
	s.Put("e", second(5))
	expect(t, pops(s, second(9)), "d", "a", "e", "c")
}

func TestDueHeapFarInstants(t *testing.T) {
	s := newDueHeap[string]()
	s.Put("never", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	s.Put("always", time.Time{})
	expect(t, pops(s, epoch), "always")
	expect(t, pops(s, epoch.AddDate(200, 0, 0)))
}

// reference is the set as a slice that is sorted for every question.
type reference []referenceEntry

type referenceEntry struct {
	key int64
	at  time.Time
}

func (r *reference) remove(key int64) bool {
	before := len(*r)
	*r = slices.DeleteFunc(*r, func(e referenceEntry) bool { return e.key == key })
	return len(*r) < before
}

func (r *reference) pop(now time.Time) (key int64, ok bool) {
	if len(*r) == 0 {
		return 0, false
	}
	first := slices.MinFunc(*r, func(a, b referenceEntry) int { return a.at.Compare(b.at) })
	if first.at.After(now) {
		return 0, false
	}
	r.remove(first.key)
	return first.key, true
}

func TestDueHeapLikeTheReference(t *testing.T) {
	random := testRand(t)
	s, r, now := newDueHeap[int64](), reference{}, epoch
	for range 20_000 {
		key := random.Int64N(300)
		switch random.IntN(6) {
		case 0:
			if got, want := s.Remove(key), r.remove(key); got != want {
				t.Fatalf("remove %d: %v, want %v", key, got, want)
			}
		case 1:
			now = now.Add(time.Duration(random.IntN(5)) * time.Second)
			got, _, ok := s.PopDue(now)
			if want, wantOK := r.pop(now); got != want || ok != wantOK {
				t.Fatalf("popped %d, %v, want %d, %v", got, ok, want, wantOK)
			}
		default:
			at := now.Add(time.Duration(random.IntN(60)) * time.Second)
			s.Put(key, at)
			r.remove(key)
			r = append(r, referenceEntry{key, at})
		}
		if s.Len() != len(r) {
			t.Fatalf("%d keys, want %d", s.Len(), len(r))
		}
	}
}

func fill(n int) *dueHeap[int64] {
	s := newDueHeap[int64]()
	for key := range int64(n) {
		s.Put(key, epoch.Add(time.Duration(key*7919%1_000_003)*time.Millisecond))
	}
	return s
}

func TestDueHeapAMillionFitIn64MB(t *testing.T) {
	before := HeapInUse()
	s := fill(1_000_000)
	if used := HeapInUse() - before; used > 64_000_000 {
		t.Errorf("a million keys take %d bytes", used)
	}
	runtime.KeepAlive(s)
}

func TestDueHeapEmptiedSetLetsGo(t *testing.T) {
	before := HeapInUse()
	s := fill(100_000)
	for s.Len() > 0 {
		if _, _, ok := s.PopDue(second(1_000_000)); !ok {
			t.Fatal("a key is not due")
		}
	}
	if used := HeapInUse() - before; used > 1_000_000 {
		t.Errorf("the emptied set keeps %d bytes", used)
	}
	s.Put(7, second(1))
	if key, _, ok := s.PopDue(second(1)); !ok || key != 7 {
		t.Errorf("popped %d, %v after the set was emptied", key, ok)
	}
}

func BenchmarkDueHeapPutPop(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run("waiting="+strconv.Itoa(n), func(b *testing.B) {
			before := HeapInUse()
			s := fill(n)
			bytesEach := float64(HeapInUse()-before) / float64(n)
			b.ReportAllocs()
			for b.Loop() {
				key, at, _ := s.PopDue(second(1 << 30))
				s.Put(key, at.Add(time.Hour))
			}
			b.ReportMetric(bytesEach, "B/waiting")
		})
	}
}
