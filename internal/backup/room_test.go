package backup

import (
	"errors"
	"os"
	"strings"
	"testing"

	"sluice/internal/domain"
)

// TestAFullDiskIsNotTheBackupsFault: where a part finds no room, not a word is said
// against what it is read from.
func TestAFullDiskIsNotTheBackupsFault(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = fill(full, strings.NewReader("a sound part"), Part{Name: databaseFile})
	failed := writeFailure{}
	if !errors.As(err, &failed) {
		t.Fatalf("got %v", err)
	}
	err = unwritableFolder("/some/where", failed)
	if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "no room in /some/where") || strings.Contains(err.Error(), "damaged") {
		t.Errorf("it says %v", err)
	}
}
