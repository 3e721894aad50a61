package wire

import (
	"encoding/json"
	"time"

	"sluice/internal/timer"
)

// TimerRequest sets a timer: either at an instant, or in a while.
type TimerRequest struct {
	ID      string          `json:"id" minLength:"1" maxLength:"200" doc:"Letters, digits and . _ : @ -"`
	At      string          `json:"at,omitempty" maxLength:"100" doc:"A time, such as 2026-12-01T09:00:00+09:00"`
	In      string          `json:"in,omitempty" maxLength:"100" doc:"A duration from now, such as 5m or 36h"`
	Payload json.RawMessage `json:"payload,omitempty" doc:"Any JSON of at most 64 KiB, passed on unchanged"`
	Webhook string          `json:"webhook,omitempty" maxLength:"2000" doc:"A URL that gets a signed POST when it fires"`
}

// InstantRequest names an instant, or a while from now.
type InstantRequest struct {
	At string `json:"at,omitempty" maxLength:"100" doc:"A time, such as 2026-12-01T09:00:00+09:00"`
	In string `json:"in,omitempty" maxLength:"100" doc:"A duration from now, such as 5m or 36h"`
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

// Lateness is how late timers fired. Shares are estimated within narrow classes
// of lateness, to a tenth at worst.
type Lateness struct {
	Mean float64 `json:"mean_ms"`
	P50  float64 `json:"p50_ms" doc:"The median lateness"`
	P99  float64 `json:"p99_ms" doc:"The 99th percentile of lateness"`
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

// share is what a share of all does not exceed: within the class in which it is
// reached, lateness counts as spread evenly up to the largest that was seen.
func share(s timer.Stats, part float64) float64 {
	rank, before, from := part*float64(s.Completed), 0.0, time.Duration(0)
	for i, n := range s.Buckets {
		to := s.Max
		if i < len(timer.LatenessBounds) {
			to = min(timer.LatenessBounds[i], s.Max)
		}
		if count := float64(n); count > 0 && before+count >= rank {
			return milliseconds(from + time.Duration(float64(to-from)*(rank-before)/count))
		}
		before, from = before+float64(n), to
	}
	return milliseconds(s.Max)
}

// EventCompletion is the name of events whose data is a timer.Completion.
const EventCompletion = "completion"
