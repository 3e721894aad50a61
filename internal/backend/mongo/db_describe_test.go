package mongo_test

import (
	"testing"

	"sluice/internal/testkit"
)

// TestBackend: the server tells of itself.
func TestBackend(t *testing.T) {
	b, err := open(t, testkit.Mongo(t)).Backend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b.Kind == "" || b.Version == "" || len(b.Figures) == 0 {
		t.Errorf("it is %+v", b)
	}
}
