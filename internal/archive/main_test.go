package archive_test

import (
	"testing"

	"sluice/internal/archive"
	"sluice/internal/backend/bucket"
	"sluice/internal/testkit/fakebucket"
)

// TestMain hands the tests inside the package the adapters that know it.
func TestMain(m *testing.M) {
	archive.Open = bucket.Open
	archive.StartS3 = func(t testing.TB) string { return fakebucket.StartS3(t).Place("&prefix=some/where") }
	archive.InMemory = func() archive.Files { return fakebucket.NewMemory() }
	m.Run()
}
