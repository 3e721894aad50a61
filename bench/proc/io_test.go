package proc_test

import (
	"testing"

	"sluice/bench/proc"
)

func TestWrittenNeverShrinks(t *testing.T) {
	before, err := proc.Written()
	if err != nil {
		t.Fatal(err)
	}
	if after, err := proc.Written(); err != nil || before < 0 || after < before {
		t.Errorf("written %d, then %d, %v", before, after, err)
	}
}
