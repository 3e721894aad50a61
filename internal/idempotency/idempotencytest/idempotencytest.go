// Package idempotencytest is the conformance suite of the idempotency port: what
// every store must do.
package idempotencytest

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/idempotency"
	"sluice/internal/state"
)

// at is when everything happens.
var at = time.Date(2026, 10, 16, 9, 0, 0, 123_456_000, time.UTC)

func record(key, asked string, holder int64, now time.Time) idempotency.Record {
	return idempotency.Record{
		ID: idempotency.IDOf("ann", key), Fingerprint: idempotency.FingerprintOf([]byte(asked)), Holder: holder,
		Until: now.Add(idempotency.Patience), Expires: now.Add(idempotency.Lifetime),
	}
}

var sealed = state.Sealed{KeyID: "k1", Data: []byte("\x00\xff'; an answer")}

// suite is one store under test.
type suite struct {
	*testing.T
	store idempotency.Store
}

func (s *suite) claim(r idempotency.Record, now time.Time, want bool) idempotency.Record {
	s.Helper()
	standing, claimed, err := s.store.Claim(s.Context(), r, now)
	if err != nil || claimed != want {
		s.Fatalf("claimed: %v, %v; want %v", claimed, err, want)
	}
	return standing
}

func (s *suite) finish(r idempotency.Record, want bool) {
	s.Helper()
	kept, err := s.store.Finish(s.Context(), r.ID, r.Holder, sealed, r.Expires.Add(time.Second))
	if err != nil || kept != want {
		s.Fatalf("kept: %v, %v; want %v", kept, err, want)
	}
}

// Run checks a store.
func Run(t *testing.T, open func(t *testing.T) idempotency.Store) {
	for name, check := range map[string]func(*suite){
		"Answer": answer, "Gone": gone, "Release": release, "Expiry": expiry, "Crowd": crowd, "Prune": prune, "Large": large, "Reseal": reseal,
	} {
		t.Run(name, func(t *testing.T) { check(&suite{t, open(t)}) })
	}
}

// answer: what was answered stands in the way of everybody, and comes back whole.
func answer(s *suite) {
	first := record("a", "this", 1, at)
	s.claim(first, at, true)
	got := s.claim(record("a", "this", 2, at), at, false)
	if got.Answered || got.Fingerprint != first.Fingerprint || got.ID != first.ID || got.Holder != 1 || !got.Until.Equal(first.Until) || !got.Expires.Equal(first.Expires) {
		s.Errorf("while it is carried out: %+v, want %+v", got, first)
	}
	s.finish(first, true)
	got = s.claim(record("a", "that", 3, at), at, false)
	if !got.Answered || got.Answer.KeyID != sealed.KeyID || !bytes.Equal(got.Answer.Data, sealed.Data) || got.Fingerprint != first.Fingerprint || !got.Expires.Equal(first.Expires.Add(time.Second)) {
		s.Errorf("once it is answered: %+v", got)
	}
	// Another key, and the same key of somebody else, are none of its business.
	s.claim(record("b", "this", 4, at), at, true)
	other := record("a", "this", 5, at)
	other.ID = idempotency.IDOf("bob", "a")
	s.claim(other, at, true)
	// An answer is given once.
	s.finish(first, false)
}

// gone: a holder that has vanished makes room for the same request, and cannot
// answer any more.
func gone(s *suite) {
	first := record("a", "this", 1, at)
	s.claim(first, at, true)
	late := at.Add(idempotency.Patience)
	s.claim(record("a", "this", 2, late), late.Add(-time.Microsecond), false)
	s.claim(record("a", "that", 3, late), late, false)
	second := record("a", "this", 4, late)
	s.claim(second, late, true)
	s.finish(first, false)
	if got := s.claim(record("a", "this", 5, late), late, false); got.Holder != 4 || got.Answered {
		s.Errorf("the second one: %+v", got)
	}
	s.finish(second, true)
}

// release: a request that came to nothing may be sent again; one that was
// answered, or is somebody else's, is not forgotten.
func release(s *suite) {
	first := record("a", "this", 1, at)
	s.claim(first, at, true)
	if err := s.store.Release(s.Context(), first.ID, 2); err != nil {
		s.Fatal(err)
	}
	s.claim(record("a", "that", 3, at), at, false)
	if err := s.store.Release(s.Context(), first.ID, 1); err != nil {
		s.Fatal(err)
	}
	again := record("a", "that", 3, at)
	s.claim(again, at, true)
	s.finish(again, true)
	if err := s.store.Release(s.Context(), again.ID, 3); err != nil {
		s.Fatal(err)
	}
	s.claim(record("a", "that", 4, at), at, false)
}

// expiry: an answer stands for its time, and no longer.
func expiry(s *suite) {
	first := record("a", "this", 1, at)
	s.claim(first, at, true)
	s.finish(first, true)
	end := first.Expires.Add(time.Second)
	s.claim(record("a", "that", 2, end), end.Add(-time.Microsecond), false)
	second := record("a", "that", 3, end)
	s.claim(second, end, true)
	if got := s.claim(record("a", "that", 4, end), end, false); got.Answered || len(got.Answer.Data) != 0 || got.Fingerprint != second.Fingerprint {
		s.Errorf("the old answer is still there: %+v", got)
	}
}

// crowd: of many who come at once, with a new key and with one whose holder is
// gone, one gets it.
func crowd(s *suite) {
	for _, now := range []time.Time{at, at.Add(idempotency.Patience)} {
		var won atomic.Int64
		var all sync.WaitGroup
		for i := range int64(20) {
			all.Go(func() {
				_, claimed, err := s.store.Claim(context.WithoutCancel(s.Context()), record("a", "this", 100+i, now), now)
				if err != nil {
					s.Error(err)
				}
				if claimed {
					won.Add(1)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			s.Errorf("%d of 20 got the key", won.Load())
		}
	}
}

// prune: what has expired goes, so much at a time; the rest stays.
func prune(s *suite) {
	for i, key := range []string{"a", "b", "c", "d"} {
		s.claim(record(key, "this", int64(i), at.Add(time.Duration(i)*time.Hour)), at, true)
	}
	for _, want := range []int{2, 1, 0} {
		n, err := s.store.Prune(s.Context(), at.Add(idempotency.Lifetime+2*time.Hour), 2)
		if err != nil || n != want {
			s.Fatalf("pruned %d, %v; want %d", n, err, want)
		}
	}
	s.claim(record("d", "this", 9, at), at, false)
	s.claim(record("a", "this", 9, at), at, true)
}

// large: an answer of a megabyte is kept whole.
func large(s *suite) {
	first := record("a", "this", 1, at)
	s.claim(first, at, true)
	data := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	if kept, err := s.store.Finish(s.Context(), first.ID, 1, state.Sealed{KeyID: "k", Data: data}, first.Expires); err != nil || !kept {
		s.Fatal(kept, err)
	}
	if got := s.claim(record("a", "this", 2, at), at, false); !bytes.Equal(got.Answer.Data, data) {
		s.Errorf("%d bytes came back of %d", len(got.Answer.Data), len(data))
	}
}

// reseal lists answers of another key and replaces them, unless they changed.
func reseal(s *suite) {
	ctx := s.Context()
	var all []idempotency.Record
	for i, key := range []string{"a", "b", "c"} {
		r := record(key, "x", int64(i+1), at)
		s.claim(r, at, true)
		s.finish(r, true)
		all = append(all, r)
	}
	open := record("open", "x", 9, at)
	s.claim(open, at, true)
	var found []idempotency.Record
	for above := (idempotency.ID{}); ; {
		page, err := s.store.SealedOtherwise(ctx, "k2", above, 2)
		if err != nil || len(page) > 2 {
			s.Fatalf("got %d, %v", len(page), err)
		}
		if len(page) == 0 {
			break
		}
		above = page[len(page)-1].ID
		found = append(found, page...)
	}
	if len(found) != len(all) {
		s.Fatalf("%d answers have another key, want %d", len(found), len(all))
	}
	renewed := state.Sealed{KeyID: "k2", Data: []byte("sealed anew")}
	for i, r := range found {
		if r.Answer.KeyID != sealed.KeyID || !bytes.Equal(r.Answer.Data, sealed.Data) || !r.Answered {
			s.Errorf("record %d is %+v", i, r)
		}
		for turn, want := range []bool{true, false} {
			if replaced, err := s.store.Reseal(ctx, r.ID, r.Answer, renewed); err != nil || replaced != want {
				s.Errorf("turn %d: replaced %v, %v", turn, replaced, err)
			}
		}
	}
	if standing := s.claim(all[0], at, false); standing.Answer.KeyID != "k2" || string(standing.Answer.Data) != "sealed anew" || standing.Fingerprint != all[0].Fingerprint {
		s.Errorf("it is now %+v", standing)
	}
	if left, err := s.store.SealedOtherwise(ctx, "k2", idempotency.ID{}, 10); err != nil || len(left) != 0 {
		s.Errorf("left are %+v, %v", left, err)
	}
}
