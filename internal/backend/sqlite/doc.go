// Package sqlite is the embedded backend: one SQLite file in a data folder,
// owned by one process. It implements the ports of state, documents, timers,
// snapshots, the event log and what was drawn on rations.
//
// One goroutine writes the file, so that a transaction never meets another;
// whatever is asked while it is busy shares the next transaction and its fsync
// (group commit). Reads go on beside it, each on a snapshot of its own.
//
//   - db*.go: opening, checking and migrating the file, who holds the folder,
//     the writer, and rows in and out; schema/ holds the migrations
//   - state*.go: State, the accounts, runs and jobs
//   - documents*.go: Documents, what was collected
//   - timers*.go: Timers, what is to fire and what has fired
//   - snapshots*.go: Snapshots, keyed records with their history, requests and
//     dead letters
//   - eventlog*.go: EventLog, the topics of requests to refresh
//   - rations.go: Rations, what may have been drawn on rations
package sqlite
