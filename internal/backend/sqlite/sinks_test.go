package sqlite_test

import (
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/sink/hook"
	"sluice/internal/sink/hook/hooktest"
)

func TestSinks(t *testing.T) {
	hooktest.Run(t, func(t *testing.T) hook.Store { return sqlite.NewSinks(openIn(t, t.TempDir())) })
}
