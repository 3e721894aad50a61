package shipped_test

import (
	"bytes"
	"testing"

	"sluice/internal/source/declared"
	"sluice/internal/source/declared/shipped"
	"sluice/internal/sources"
)

// TestShipped: every file is short, without a mistake, can be simulated, and its
// tables go with those of all others.
func TestShipped(t *testing.T) {
	kinds := sources.Kinds()
	for _, name := range shipped.Names() {
		text, _ := shipped.File(name)
		if lines := bytes.Count(text, []byte("\n")); lines > 80 {
			t.Errorf("%s has %d lines", name, lines)
		}
		f, mistakes := declared.Load(text)
		if err := mistakes.Err(name); err != nil {
			t.Error(err)
			continue
		}
		if f.Name != name || f.Unknown {
			t.Errorf("%s is called %s, and its ration is unknown: %v", name, f.Name, f.Unknown)
		}
		if _, err := f.Simulated(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		kinds = append(kinds, f.Describe().Kinds...)
	}
	if err := kinds.Check(); err != nil {
		t.Error(err)
	}
	if _, there := shipped.File("nothing"); there {
		t.Error("there is a file that there is not")
	}
}
