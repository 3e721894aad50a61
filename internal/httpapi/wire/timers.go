package wire

import (
	"encoding/json"
	"time"

	"sluice/internal/timer"
)

// TimerRequest sets a timer: either at an instant, or in a while.
type TimerRequest struct {
	ID      string          `json:"id" minLength:"1" maxLength:"200" doc:"Letters, digits and . _ : @ -"`
	At      string          `json:"at,omitempty" maxLength:"100" doc:"An instant, such as 2026-12-01T09:00:00+09:00"`
	In      string          `json:"in,omitempty" maxLength:"100" doc:"A while from now, such as 5m or 36h"`
	Payload json.RawMessage `json:"payload,omitempty" doc:"Any JSON of at most 64 KiB, handed on as it is"`
	Webhook string          `json:"webhook,omitempty" maxLength:"2000" doc:"An address that gets a signed POST when it fires"`
}

// InstantRequest names an instant, or a while from now.
type InstantRequest struct {
	At string `json:"at,omitempty" maxLength:"100" doc:"An instant, such as 2026-12-01T09:00:00+09:00"`
	In string `json:"in,omitempty" maxLength:"100" doc:"A while from now, such as 5m or 36h"`
}

// TimerList is one page of timers in the order of their ids.
type TimerList struct {
	Timers []timer.Timer `json:"timers" nullable:"false"`
	// NextAfter is the after of the next page; empty on the last.
	NextAfter string `json:"next_after,omitempty" doc:"Give it as after to get the next page"`
}

// CompletionList is one page of completions in the order they fired.
type CompletionList struct {
	Completions []timer.Completion `json:"completions" nullable:"false"`
	// Next is the cursor of the next page; empty on the last.
	Next string `json:"next,omitempty" doc:"Give it as after to get the next page"`
}

// CompletionStats sums up completions for people.
type CompletionStats struct {
	From      time.Time `json:"from"`
	Completed int64     `json:"completed"`
	Succeeded int64     `json:"succeeded"`
	Failed    int64     `json:"failed" doc:"Their webhook was given up"`
	Pending   int64     `json:"pending" doc:"They are being delivered"`
	Late      int64     `json:"late" doc:"They fired more than a second late"`
	Lateness  Lateness  `json:"lateness"`
	// Servers counts completions by who fired them.
	Servers map[string]int64 `json:"servers"`
}

// Lateness is how late timers fired. Shares are the upper ends of the buckets
// they fall into.
type Lateness struct {
	Mean float64 `json:"mean_ms"`
	P50  float64 `json:"p50_ms" doc:"Half of them were not later than this"`
	P99  float64 `json:"p99_ms" doc:"99 of 100 were not later than this"`
	Max  float64 `json:"max_ms"`
}

// CompletionStatsOf shows statistics.
func CompletionStatsOf(s timer.Stats) CompletionStats {
	return CompletionStats{
		From: s.From, Completed: s.Completed, Succeeded: s.Succeeded, Failed: s.Failed,
		Pending: s.Completed - s.Succeeded - s.Failed, Late: s.Late, Servers: s.Servers,
		Lateness: Lateness{Mean: milliseconds(s.Mean), P50: share(s, 0.5), P99: share(s, 0.99), Max: milliseconds(s.Max)},
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// share is the upper end of the bucket in which a share of all is reached; it
// is never more than the largest lateness seen.
func share(s timer.Stats, part float64) float64 {
	seen := int64(0)
	for i, n := range s.Buckets {
		seen += n
		if float64(seen) >= part*float64(s.Completed) && i < len(timer.LatenessBounds) {
			return milliseconds(min(timer.LatenessBounds[i], s.Max))
		}
	}
	return milliseconds(s.Max)
}

// EventCompletion is the name of events whose data is a timer.Completion.
const EventCompletion = "completion"
