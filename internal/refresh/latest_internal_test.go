package refresh

import (
	"fmt"
	"testing"
)

// TestLatest keeps the last few, each once.
func TestLatest(t *testing.T) {
	var l latest
	for i := range 3 * latestKept {
		l.add(Entity{Source: "game", Key: fmt.Sprint(i % (latestKept + 2))})
	}
	again := l.all()[3]
	l.add(again)
	all := l.all()
	if len(all) != latestKept || all[0] != again {
		t.Fatalf("%d are kept, the first is %v", len(all), all[0])
	}
	seen := map[Entity]bool{}
	for _, e := range all {
		if seen[e] {
			t.Errorf("%v is there twice", e)
		}
		seen[e] = true
	}
}
