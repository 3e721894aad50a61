package documenttest

import (
	"fmt"

	"sluice/internal/document"
)

var purgeCases = []testCase{
	{"PurgeRemovesAnAccount", purgeAccount},
}

// purgeAccount removes one account's documents a few at a time, and nobody else's.
func purgeAccount(x *fixture) {
	const many = 25
	for i := range many {
		x.upsert(issue(1, fmt.Sprint(i), i), issue(2, fmt.Sprint(i), i))
	}
	kept := names(x.scan(document.Query{Account: 2}))
	calls := 0
	for {
		n, err := x.Purge(x.Context(), 1, 10)
		x.ok(err)
		if n == 0 {
			break
		}
		if calls++; n > 10 || calls > 2*many {
			x.Fatalf("call %d removed %d records, want 10 at most, and an end", calls, n)
		}
	}
	if left := x.scan(document.Query{Account: 1}); len(left) > 0 {
		x.Fatalf("left are %v", names(left))
	}
	x.absent(document.Key{Account: 1, Kind: KindIssue, Name: "3"})
	if got := names(x.scan(document.Query{Account: 2})); fmt.Sprint(got) != fmt.Sprint(kept) || len(got) != many {
		x.Fatalf("of the other account there are %v, want %v", got, kept)
	}
	// What comes again is stored as if it were new.
	x.upsert(issue(1, "3", 3))
	x.expect(issue(1, "3", 3))
}
