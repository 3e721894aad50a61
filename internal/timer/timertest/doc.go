// Package timertest is what the adapters of timer must pass: each promise of a port
// in a case of its own, then random sequences of calls against a model that is too
// simple to be wrong.
//
//   - store*.go: RunStore for timer.Store, and BenchStore.
//   - log*.go: RunLog for timer.Log.
package timertest
