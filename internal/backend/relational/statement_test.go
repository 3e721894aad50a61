package relational_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/internal/backend/relational"
)

func TestHashesTellTextsApart(t *testing.T) {
	t.Parallel()
	seen := map[relational.Hash]string{}
	for _, texts := range [][]string{nil, {""}, {"", ""}, {"a", "b"}, {"ab"}, {"ab", ""}, {"", "ab"}, {"a ", "b"}, {strings.Repeat("a", 128), "b"}} {
		h := relational.HashOf(texts...)
		if other, ok := seen[h]; ok {
			t.Errorf("%q and %s have one hash", texts, other)
		}
		seen[h] = fmt.Sprintf("%q", texts)
	}
}
