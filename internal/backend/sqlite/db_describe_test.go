package sqlite_test

import (
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/fleet"
)

// TestBackend: the database tells of itself.
func TestBackend(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	b, err := db.Backend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b.Kind != "SQLite" || b.Version == "" || b.Address == "" || len(b.Figures) == 0 || b.Figures[0].Unit != fleet.Bytes || b.Figures[0].Value <= 0 {
		t.Errorf("it is %+v", b)
	}
}
