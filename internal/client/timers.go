package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
)

func timerPath(id, rest string) string { return api + "/timers/" + url.PathEscape(id) + rest }

// SetTimer sets a timer, at an instant or in a while.
func (c timerCalls) SetTimer(ctx context.Context, in wire.TimerRequest) (timer.Timer, error) {
	var out timer.Timer
	err := c.call(ctx, http.MethodPost, api+"/timers", nil, in, &out)
	return out, err
}

// Timer shows a timer.
func (c timerCalls) Timer(ctx context.Context, id string) (timer.Timer, error) {
	var out timer.Timer
	err := c.call(ctx, http.MethodGet, timerPath(id, ""), nil, nil, &out)
	return out, err
}

// CancelTimer keeps a timer from firing.
func (c timerCalls) CancelTimer(ctx context.Context, id string) (timer.Timer, error) {
	var out timer.Timer
	err := c.call(ctx, http.MethodDelete, timerPath(id, ""), nil, nil, &out)
	return out, err
}

// RescheduleTimer gives a timer another instant.
func (c timerCalls) RescheduleTimer(ctx context.Context, id string, to wire.InstantRequest) (timer.Timer, error) {
	var out timer.Timer
	err := c.call(ctx, http.MethodPost, timerPath(id, "/reschedule"), nil, to, &out)
	return out, err
}

// RedeliverTimer has the webhook of a timer that was given up called again.
func (c timerCalls) RedeliverTimer(ctx context.Context, id string) (timer.Timer, error) {
	var out timer.Timer
	err := c.call(ctx, http.MethodPost, timerPath(id, "/redeliver"), nil, nil, &out)
	return out, err
}

// CompletionStats sums up what has fired in the last hours.
func (c timerCalls) CompletionStats(ctx context.Context, hours int) (wire.CompletionStats, error) {
	var out wire.CompletionStats
	err := c.call(ctx, http.MethodGet, api+"/monitoring/completion-stats", url.Values{"hours": {strconv.Itoa(hours)}}, nil, &out)
	return out, err
}

// DetectMissedTimers looks for timers that should have fired and fires them.
func (c timerCalls) DetectMissedTimers(ctx context.Context) (timer.Missed, error) {
	var out timer.Missed
	err := c.call(ctx, http.MethodPost, api+"/monitoring/detect-missed-timers", nil, nil, &out)
	return out, err
}

// WatchCompletions yields every completion from now on, until ctx ends.
func (c timerCalls) WatchCompletions(ctx context.Context) iter.Seq2[timer.Completion, error] {
	return follow(ctx, c.transport, api+"/completions/events", nil, one[timer.Completion](wire.EventCompletion), func(timer.Completion) bool { return false })
}
