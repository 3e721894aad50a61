package declared_test

import (
	"testing"

	"sluice/internal/source/declared"
)

// BenchmarkLoad reads and compiles a file.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, mistakes := declared.Load([]byte(shop)); len(mistakes) > 0 {
			b.Fatal(mistakes)
		}
	}
}
