package sqlite_test

import (
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/idempotency"
	"sluice/internal/idempotency/idempotencytest"
)

func TestIdempotency(t *testing.T) {
	idempotencytest.Run(t, func(t *testing.T) idempotency.Store {
		return sqlite.NewIdempotency(openIn(t, t.TempDir()))
	})
}
