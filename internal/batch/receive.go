package batch

import (
	"context"
	"time"
)

// Receive waits for the first item of a channel and takes along what follows
// within a delay, up to a number; without a delay what is there already. It
// returns none when ctx ends first.
func Receive[T any](ctx context.Context, from <-chan T, most int, delay time.Duration) []T {
	var items []T
	select {
	case first := <-from:
		items = append(items, first)
	case <-ctx.Done():
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	for len(items) < most {
		select {
		case next := <-from:
			items = append(items, next)
			continue
		default:
		}
		if delay == 0 {
			return items
		}
		select {
		case next := <-from:
			items = append(items, next)
		case <-timer.C:
			return items
		case <-ctx.Done():
			return items
		}
	}
	return items
}
