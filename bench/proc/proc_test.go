package proc

import (
	"os"
	"testing"
	"time"
)

func TestParseTicks(t *testing.T) {
	got, err := parseTicks("4242 (a ) b) S 1 2 3 4 5 6 7 8 9 10 17 25 0 0 20 0\n")
	if err != nil || got != 42 {
		t.Errorf("got %d, %v; want 42", got, err)
	}
	for _, bad := range []string{"", "1 (x) S 1 2", "no bracket at all"} {
		if _, err := parseTicks(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseStatus(t *testing.T) {
	const status = "Name:\tsluice\nVmRSS:\t  12345 kB\nnonvoluntary_ctxt_switches:\t9\nvoluntary_ctxt_switches:\t7\n"
	if got, err := parseStatus(status, "VmRSS"); err != nil || got != 12345 {
		t.Errorf("got %d, %v", got, err)
	}
	if got, err := parseStatus(status, "voluntary_ctxt_switches"); err != nil || got != 7 {
		t.Errorf("got %d, %v", got, err)
	}
	if _, err := parseStatus(status, "VmSwap"); err == nil {
		t.Error("a missing field was found")
	}
}

func TestWorkIsSeen(t *testing.T) {
	before, err := Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for began, n := time.Now(), 0; time.Since(began) < 50*time.Millisecond; n++ {
	}
	after, err := Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if used := after.Sub(before); used.Run < 10*time.Millisecond {
		t.Errorf("50 ms of work show as %v", used)
	}
	if resident, err := Resident(os.Getpid()); err != nil || resident < 1<<20 {
		t.Errorf("resident %d, %v", resident, err)
	}
}
