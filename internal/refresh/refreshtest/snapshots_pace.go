package refreshtest

import (
	"time"

	"sluice/internal/refresh"
)

var paceCases = []testCase{
	// Each entity is due as its own source says, in each tier.
	{"PaceOfItsOwn", func(x *fixture) {
		slow := brought("a", 1, start, "v")
		slow.Source = slowSource
		_, err := x.Save(x.Context(), []refresh.Refreshed{slow, brought("b", 1, start, "w")})
		x.ok(err)
		due := func(source string, at time.Duration) int {
			x.Helper()
			found, err := x.Due(x.Context(), refresh.DueQuery{Source: source, Now: after(at), Limit: 10})
			x.ok(err)
			return len(found.Entities)
		}
		want(x, "the others are due by default", due("shop", cold), 1)
		want(x, "it is not due with them", due(slowSource, slowPace.Cold-time.Second), 0)
		// It was read: it is due as if it had been hot all along.
		x.ok(x.Read(x.Context(), []refresh.Read{{Entity: slow.Entity, At: after(time.Hour)}}))
		want(x, "not yet", due(slowSource, slowPace.Hot-time.Second), 0)
		x.reopen()
		want(x, "as what is hot", due(slowSource, slowPace.Hot), 1)
		want(x, "once", due(slowSource, slowPace.Hot+time.Second), 0)
		want(x, "after its own interval", due(slowSource, 2*slowPace.Hot), 1)
	}},
}
