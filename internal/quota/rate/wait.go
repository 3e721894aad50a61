package rate

import (
	"context"
	"time"

	"sluice/internal/domain"
)

const (
	// longestWait is after how long a waiter asks again, whatever it was told.
	longestWait = 30 * time.Second
	// shortestWait keeps a waiter from asking again at once.
	shortestWait = time.Millisecond
)

// Wait waits until calls are granted, and returns how many: at least one, at
// most n. It does not gather calls until there are n: those granted earlier
// would then be made together, more of them in a second than the upstream
// allows. An error is the keeper's or that of ctx.
func Wait(ctx context.Context, k Keeper, upstream string, p domain.Priority, n int) (int, error) {
	for {
		g, err := k.Reserve(ctx, upstream, p, n)
		if err != nil || g.Calls > 0 {
			return g.Calls, err
		}
		timer := time.NewTimer(min(max(time.Until(g.RetryAt), shortestWait), longestWait))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
	}
}
