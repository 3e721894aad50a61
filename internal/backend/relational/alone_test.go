package relational_test

import (
	"testing"

	"sluice/internal/domain"
)

// TestAlone: one at a time does the same on a database, and others on another.
func TestAlone(t *testing.T) {
	t.Parallel()
	eachServer(t, testAlone)
}

func testAlone(t *testing.T, on server) {
	url := on.fresh(t)
	one, two, elsewhere := open(t, url), open(t, url), open(t, on.fresh(t))
	release, err := one.Alone(t.Context(), "archive")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Alone(t.Context(), "archive"); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("two at once: %v", err)
	}
	for name, try := range map[string]func() (func(), error){
		"something else": func() (func(), error) { return two.Alone(t.Context(), "tidy up") },
		"elsewhere":      func() (func(), error) { return elsewhere.Alone(t.Context(), "archive") },
	} {
		done, err := try()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		done()
	}
	release()
	again, err := two.Alone(t.Context(), "archive")
	if err != nil {
		t.Fatalf("after it was released: %v", err)
	}
	again()
}
