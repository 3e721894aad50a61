package documenttest

import (
	"slices"
	"testing"
)

// TestMemory: what stores are compared with keeps their promises.
func TestMemory(t *testing.T) {
	for _, c := range slices.Concat(upsertCases, scanCases, deletedCases, goneCases) {
		t.Run(c.name, func(t *testing.T) { c.check(&fixture{TB: t, Store: NewMemory(Kinds())}) })
	}
}
