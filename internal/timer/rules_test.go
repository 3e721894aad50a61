package timer_test

import (
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123457000, time.UTC)

var everyStatus = []timer.Status{timer.Waiting, timer.Delivering, timer.Completed, timer.Dead, timer.Canceled}

func TestFiringARow(t *testing.T) {
	f := timer.Firing{Now: noon.Add(500), Server: "one", Grace: time.Minute}
	for _, status := range everyStatus {
		for _, at := range []time.Time{noon.Add(-time.Hour), noon, noon.Add(time.Microsecond)} {
			for _, hook := range []string{"", "https://example.org"} {
				row := timer.Timer{Spec: timer.Spec{ID: "a", At: at, Webhook: hook}, Status: status}
				was := row
				fires := status == timer.Waiting && !at.After(noon)
				if got := f.Fire(&row); got != fires {
					t.Errorf("%s, due %v: fired %t", status, at, got)
				}
				switch {
				case !fires:
					if row.Status != was.Status || row.Server != "" {
						t.Errorf("what does not fire changes: %+v", row)
					}
				case hook == "" && (row.Status != timer.Completed || !row.NextAt.IsZero()),
					hook != "" && (row.Status != timer.Delivering || !row.NextAt.Equal(noon.Add(time.Minute))):
					t.Errorf("fired with %q: %+v", hook, row)
				case !row.FiredAt.Equal(noon) || row.Server != "one":
					t.Errorf("fired %+v", row)
				}
			}
		}
	}
	f.Deliver = true
	if status, next := f.Becomes(false); status != timer.Delivering || !next.Equal(noon.Add(time.Minute)) {
		t.Errorf("becomes %s, next %v", status, next)
	}
}

func TestSettlingARow(t *testing.T) {
	for _, status := range everyStatus {
		for tries := range 4 {
			row := timer.Timer{Status: status, Tries: tries}
			s := timer.Settlement{To: timer.Delivering, Next: noon, Tries: 2, Error: "no"}
			counts := status == timer.Delivering && tries <= 2
			if got := s.Settle(&row); got != counts || counts && (row.Tries != 2 || row.Error != "no" || !row.NextAt.Equal(noon)) {
				t.Errorf("%s after %d tries: %t, %+v", status, tries, got, row)
			}
		}
		s := timer.Settlement{To: status, Tries: 1, Next: noon}
		if err := s.Check(); (err == nil) != status.HasFired() {
			t.Errorf("a delivery ends as %s: %v", status, err)
		}
		row := timer.Timer{Status: timer.Delivering}
		if s.Settle(&row); row.NextAt.IsZero() == (status == timer.Delivering) {
			t.Errorf("settled as %s: next %v", status, row.NextAt)
		}
	}
}

func TestChangingARow(t *testing.T) {
	for _, status := range everyStatus {
		canceled := timer.Timer{Status: status, NextAt: noon}
		changed, err := canceled.Cancel()
		if (err != nil) != status.HasFired() || changed != (status == timer.Waiting) || err == nil && canceled.Status != timer.Canceled {
			t.Errorf("%s is canceled: %t, %v", status, changed, err)
		}
		moved := timer.Timer{Status: status}
		if err := moved.Reschedule(noon.Add(9), noon); (err != nil) != status.HasFired() || err == nil &&
			(moved.Status != timer.Waiting || !moved.At.Equal(noon) || !moved.NextAt.Equal(noon) || !moved.SetAt.Equal(noon)) {
			t.Errorf("%s is rescheduled: %+v, %v", status, moved, err)
		}
		again := timer.Timer{Status: status, Tries: 3}
		err = again.Redeliver(noon)
		if (err == nil) != (status == timer.Dead) || err != nil && domain.CodeOf(err) != domain.CodeConflict || err == nil && again.Tries != 0 {
			t.Errorf("%s is delivered again: %+v, %v", status, again, err)
		}
	}
	row := timer.NewTimer(timer.Spec{ID: "a", At: time.Unix(0, 0), Payload: []byte{}}, noon.Add(1))
	if row.Status != timer.Waiting || row.Payload != nil || !row.SetAt.Equal(noon) || !row.NextAt.After(row.At) {
		t.Errorf("new: %+v", row)
	}
	if logged := row; row.Moved(&logged) {
		t.Error("what has not changed is logged again")
	}
	if row.Moved(&timer.Timer{Status: timer.Dead}) {
		t.Error("what has not fired, as its id was given to another, is logged")
	}
	row.Status, row.FiredAt = timer.Delivering, noon
	same := timer.Timer{Status: row.Status, FiredAt: noon}
	tried, other, later := same, same, same
	tried.Tries, other.Status, later.FiredAt = 1, timer.Dead, noon.Add(time.Second)
	if row.Moved(&same) || !row.Moved(&tried) || !row.Moved(&other) || !row.Moved(&later) {
		t.Error("what has changed is not logged again, or what has not is")
	}
}

func TestPrefixEnd(t *testing.T) {
	for prefix, want := range map[string]string{"": "", "a": "b", "a\xff": "b", "\xff\xff": "", "a%": "a&"} {
		if got := timer.PrefixEnd(prefix); got != want {
			t.Errorf("%q ends at %q, want %q", prefix, got, want)
		}
	}
}
