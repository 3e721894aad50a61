// Package sinktest is the suite of all targets of sinks: what the port promises, and
// that a runner which is interrupted anywhere leaves the target as the documents are.
//
//   - suite.go: how a target is tested, and the cases.
//   - world.go: documents that change by chance, and how rows are compared.
//   - carry.go: cases with a runner; store.go: cases of the port alone.
//   - memory.go: a target in memory, with faults, for tests of whoever carries.
package sinktest

import (
	"testing"

	"sluice/internal/sink"
)

// Place is where one test carries rows to. What is nil cannot be done there, and its
// cases are left out.
type Place struct {
	// Open opens a target of the place. The suite closes it.
	Open func(t testing.TB) sink.Target
	// Rows reads what the place shows of a table by now, in any order, each document
	// once: Key, Values and Raw.
	Rows func(t testing.TB, table sink.Table) []sink.Row
	// ByHand changes a table so that nothing can be stored in it, and returns words
	// that the conflict has to name: the table and the column.
	ByHand func(t testing.TB, table sink.Table) []string
	// Cut makes the place unreachable, and Mend reachable again.
	Cut, Mend func(t testing.TB)
	// Shared says that nothing keeps a second process from writing.
	Shared bool
}

type testCase struct {
	name  string
	check func(t *testing.T, p Place)
}

var cases = []testCase{
	{"Progress", progressIsKept},
	{"Repeated", repeated},
	{"Removed", removed},
	{"Swept", swept},
	{"Purged", purged},
	{"Awkward", awkward},
	{"Huge", huge},
	{"Evolves", evolves},
	{"ByHand", changedByHand},
	{"OneWriter", oneWriter},
	{"Backfill", backfill},
	{"Follow", follows},
	{"Random", random},
	{"AnotherFeed", anotherFeed},
	{"Trimmed", trimmed},
	{"Down", down},
}

// Run runs the suite. Each case has a place of its own.
func Run(t *testing.T, place func(t testing.TB) Place) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.check(t, place(t)) })
	}
}
