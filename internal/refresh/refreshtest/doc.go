// Package refreshtest is what the adapters of refresh must pass: each promise of a
// port in a case of its own, then random sequences against a model that is too
// simple to be wrong.
//
//   - snapshots*.go: RunSnapshots for refresh.Snapshots, and BenchSnapshots.
//   - eventlog*.go: RunEventLog for refresh.EventLog.
//   - coalescer*.go: RunCoalescer for refresh.Coalescer.
//   - cache.go: RunCache for refresh.Cache.
package refreshtest
