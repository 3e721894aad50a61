package tables_test

import (
	"strings"
	"testing"

	"sluice/internal/document"
	"sluice/internal/document/tables"
	"sluice/internal/domain"
)

func TestMissingColumns(t *testing.T) {
	own := tables.Own{{Name: "mood", Type: document.TypeText}, {Name: "size", Type: document.TypeInteger}}
	missing, err := own.Missing(map[string]bool{"own_mood": true, "title": true})
	if err != nil || strings.Join(missing.Names(), " ") != "own_size" {
		t.Errorf("missing are %v, %v", missing.Names(), err)
	}
	if missing, err = own.Missing(map[string]bool{"own_mood": true, "own_size": false}); err != nil || len(missing) != 0 {
		t.Errorf("missing are %v, %v", missing.Names(), err)
	}
	_, err = own.Missing(map[string]bool{"own_size": true})
	if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "size") || !strings.Contains(err.Error(), "another name") {
		t.Errorf("a column of another type: %v", err)
	}
	if got := own.After("a", "d."); got != "a, d.own_mood, d.own_size" {
		t.Errorf("got %q", got)
	}
}

func TestFlags(t *testing.T) {
	var seen int64
	for i, set := range []func(*document.Fields){
		func(f *document.Fields) { f.Fork = true }, func(f *document.Fields) { f.Private = true }, func(f *document.Fields) { f.External = true },
		func(f *document.Fields) { f.Truncated = true }, func(f *document.Fields) { f.Measured = true },
	} {
		var f, got document.Fields
		set(&f)
		bits := tables.Flags(&f)
		tables.SetFlags(&got, bits)
		if bits&seen != 0 || bits == 0 || tables.Flags(&got) != bits {
			t.Errorf("flag %d is %b", i, bits)
		}
		seen |= bits
	}
	if seen != 0b110111 {
		t.Errorf("the flags are %b; stored documents have them as they were", seen)
	}
}
