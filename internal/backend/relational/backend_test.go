package relational_test

import "testing"

// TestBackend: each server tells of itself.
func TestBackend(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		db := open(t, on.fresh(t))
		b, err := db.Backend(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b.Kind == "" || b.Version == "" || b.Address == "" || len(b.Figures) == 0 || b.Figures[0].Value <= 0 {
			t.Errorf("it is %+v", b)
		}
	})
}
