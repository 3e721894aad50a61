package sinktest_test

import (
	"testing"

	"sluice/internal/sink/sinktest"
)

// TestMemory: what tests of sinks are carried to keeps the promises of targets.
func TestMemory(t *testing.T) {
	sinktest.Run(t, func(testing.TB) sinktest.Place { return new(sinktest.Memory).Place() })
}
