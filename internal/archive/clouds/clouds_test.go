package clouds_test

import (
	"testing"

	"sluice/internal/archive"
	_ "sluice/internal/archive/clouds"
)

// TestDriversAreIncluded: buckets are opened without being asked anything.
func TestDriversAreIncluded(t *testing.T) {
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_KEY", "c2VjcmV0")
	for _, place := range []string{"s3://bucket?region=eu-central-1", "gs://bucket?anonymous=true", "azblob://container"} {
		bucket, err := archive.Open(t.Context(), place)
		if err != nil {
			t.Errorf("%s: %v", place, err)
			continue
		}
		if err := bucket.Close(); err != nil {
			t.Errorf("%s: %v", place, err)
		}
	}
}
