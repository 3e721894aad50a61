package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
)

func timerPath(id, rest string) string { return api + "/timers/" + url.PathEscape(id) + rest }

// SetTimer sets a timer, at an instant or in a while.
func (c *Client) SetTimer(ctx context.Context, in wire.TimerRequest) (timer.Timer, error) {
	var out timer.Timer
	err := c.call(ctx, http.MethodPost, api+"/timers", nil, in, &out)
	return out, err
}

// Timer shows a timer.
func (c *Client) Timer(ctx context.Context, id string) (timer.Timer, error) {
	var out timer.Timer
	err := c.call(ctx, http.MethodGet, timerPath(id, ""), nil, nil, &out)
	return out, err
}

// Timers lists timers in the order of their ids.
func (c *Client) Timers(ctx context.Context, q timer.Query) (wire.TimerList, error) {
	var out wire.TimerList
	query := url.Values{}
	add(query, "prefix", q.Prefix)
	add(query, "after", q.AfterID)
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	names := make([]string, len(q.Statuses))
	for i, status := range q.Statuses {
		names[i] = status.String()
	}
	add(query, "status", strings.Join(names, ","))
	err := c.call(ctx, http.MethodGet, api+"/timers", query, nil, &out)
	return out, err
}

func add(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// CancelTimer keeps a timer from firing.
func (c *Client) CancelTimer(ctx context.Context, id string) (timer.Timer, error) {
	var out timer.Timer
	err := c.call(ctx, http.MethodDelete, timerPath(id, ""), nil, nil, &out)
	return out, err
}

// RescheduleTimer gives a timer another instant.
func (c *Client) RescheduleTimer(ctx context.Context, id string, to wire.InstantRequest) (timer.Timer, error) {
	var out timer.Timer
	err := c.call(ctx, http.MethodPost, timerPath(id, "/reschedule"), nil, to, &out)
	return out, err
}

// RedeliverTimer has the webhook of a timer that was given up called again.
func (c *Client) RedeliverTimer(ctx context.Context, id string) (timer.Timer, error) {
	var out timer.Timer
	err := c.call(ctx, http.MethodPost, timerPath(id, "/redeliver"), nil, nil, &out)
	return out, err
}

// Completions lists what has fired in the last hours.
func (c *Client) Completions(ctx context.Context, hours, limit int, after string) (wire.CompletionList, error) {
	var out wire.CompletionList
	query := url.Values{"hours": {strconv.Itoa(hours)}, "limit": {strconv.Itoa(limit)}}
	add(query, "after", after)
	err := c.call(ctx, http.MethodGet, api+"/completions", query, nil, &out)
	return out, err
}

// CompletionStats sums up what has fired in the last hours.
func (c *Client) CompletionStats(ctx context.Context, hours int) (wire.CompletionStats, error) {
	var out wire.CompletionStats
	err := c.call(ctx, http.MethodGet, api+"/monitoring/completion-stats", url.Values{"hours": {strconv.Itoa(hours)}}, nil, &out)
	return out, err
}

// DetectMissedTimers looks for timers that should have fired and fires them.
func (c *Client) DetectMissedTimers(ctx context.Context) (timer.Missed, error) {
	var out timer.Missed
	err := c.call(ctx, http.MethodPost, api+"/monitoring/detect-missed-timers", nil, nil, &out)
	return out, err
}

// WatchCompletions yields every completion from now on, until ctx ends.
func (c *Client) WatchCompletions(ctx context.Context) iter.Seq2[timer.Completion, error] {
	return follow(ctx, c, api+"/completions/events", nil, wire.EventCompletion, func(timer.Completion) bool { return false })
}
