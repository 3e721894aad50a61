package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDescription describes the test itself, which is a Go program as well.
func TestDescription(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "list.json")
	if err := run(options{binary: program, version: "1.2.3+meta", created: "2026-01-02T03:04:05Z", out: out}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.Format != "CycloneDX" || d.Spec != "1.6" || d.Version != 1 || !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(d.Serial) {
		t.Errorf("it begins with %.300s", text)
	}
	main := d.Metadata.Component
	if main.Name != "sluice" || main.Version != "1.2.3+meta" || main.URL != "pkg:golang/sluice@1.2.3%2Bmeta" || len(main.Hashes) != 1 || len(main.Hashes[0].Content) != 64 {
		t.Errorf("the program is %+v", main)
	}
	refs := map[string]bool{main.Ref: true}
	for _, c := range d.Components {
		if refs[c.Ref] || c.Version == "" {
			t.Errorf("there are two of %+v", c)
		}
		refs[c.Ref] = true
	}
	if len(d.Components) == 0 || d.Components[0].Name != "std" || len(d.Dependencies) != 1 || len(d.Dependencies[0].On) != len(d.Components) {
		t.Errorf("it has %d parts, %+v", len(d.Components), d.Dependencies)
	}
	for _, on := range d.Dependencies[0].On {
		if !refs[on] {
			t.Errorf("%s is not described", on)
		}
	}
	if err := run(options{binary: out, out: out}); err == nil {
		t.Error("what is no program was described")
	}
}
