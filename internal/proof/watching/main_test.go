// Package watching_test proves that a service can be watched: what dashboards and
// alerts name is there, and alerts fire when something is broken.
package watching_test

import (
	"os"
	"testing"

	"sluice/internal/testkit/sluice"
)

func TestMain(m *testing.M) { os.Exit(sluice.Main(m)) }

// deployed is where what is deployed with the program lies.
const deployed = "../../../deploy/"

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
