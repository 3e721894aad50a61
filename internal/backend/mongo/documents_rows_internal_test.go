package mongo

import (
	"testing"
	"time"
)

// TestRowsOfManyChanges: a row is of one account and has so many changes at most.
func TestRowsOfManyChanges(t *testing.T) {
	t.Parallel()
	telling := &telling{lease: &lease{feed: &feed{now: time.Now}}}
	for i := range 2*rowEntries + 10 {
		telling.entries = append(telling.entries, newEntry{account: int64(1 + i%2), logEntry: logEntry{Name: "x"}})
	}
	counts := map[int64][]int64{}
	for _, row := range telling.rows() {
		counts[row.Account] = append(counts[row.Account], row.Count)
		if row.Count != int64(len(row.Entries)) {
			t.Errorf("a row of %d entries counts %d", len(row.Entries), row.Count)
		}
	}
	for account, got := range counts {
		if len(got) != 2 || got[0] != rowEntries || got[1] != 5 {
			t.Errorf("account %d has rows of %v", account, got)
		}
	}
}
