package sqlite

import (
	"errors"
	"testing"
)

// A transaction that fails before the turn of a batch ends it: whoever comes next begins
// another one, and does not wait in one that is over.
func TestABatchIsOverWhenItsTransactionFailsBefore(t *testing.T) {
	m := newMerger[int](&DB{}, nil)
	result := make(chan error, 1)
	batch := &mergedWrite[int]{merger: m, items: []*int{new(int)}, results: []chan error{result}}
	m.waiting = batch
	full := errors.New("the disk is full")
	batch.done(full)
	if err := <-result; !errors.Is(err, full) {
		t.Errorf("whoever waits is told %v", err)
	}
	if m.waiting != nil {
		t.Error("others can still join a batch that is over")
	}
}
