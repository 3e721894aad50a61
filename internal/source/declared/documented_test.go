package declared_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/source/declared"
)

var update = flag.Bool("update", false, "write the reference of docs/declare.md and docs/source.schema.json anew")

const (
	page        = "../../../docs/declare.md"
	schemaFile  = "../../../docs/source.schema.json"
	beginOfKeys = "<!-- Keys, written by `go test ./internal/source/declared -run Documented -update`. -->\n"
	endOfKeys   = "<!-- End of keys. -->\n"
)

// TestFormatIsDocumented compares the reference of the page, and the schema for
// editors, with the format.
func TestFormatIsDocumented(t *testing.T) {
	before, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begun := strings.Cut(string(before), beginOfKeys)
	_, tail, ended := strings.Cut(rest, endOfKeys)
	if !begun || !ended {
		t.Fatalf("%s has no place for the keys", page)
	}
	want := head + beginOfKeys + keys() + endOfKeys + tail
	schema, err := json.MarshalIndent(declared.JSONSchema(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	schema = append(schema, '\n')
	if *update {
		for path, text := range map[string][]byte{page: []byte(want), schemaFile: schema} {
			if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // pages for everybody
				t.Fatal(err)
			}
		}
		return
	}
	stored, _ := os.ReadFile(schemaFile)
	if string(before) != want || string(stored) != string(schema) {
		t.Error("the reference is not what the format is; write it anew with `go test ./internal/source/declared -run Documented -update`")
	}
}

func keys() string {
	var all strings.Builder
	all.WriteString("\n| key | holds | |\n| --- | --- | --- |\n")
	for _, k := range declared.Reference() {
		doc := k.Doc
		if k.Required {
			doc += " (required)"
		}
		fmt.Fprintf(&all, "| `%s` | %s | %s |\n", k.Path, escape(k.Form), escape(doc))
	}
	all.WriteByte('\n')
	return all.String()
}

func escape(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

var examples = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestExamplesOfThePage: every whole file on the page is without a mistake.
func TestExamplesOfThePage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	met := 0
	for _, m := range examples.FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(m[1], "source:") {
			continue
		}
		met++
		if _, mistakes := declared.Load([]byte(m[1])); len(mistakes) > 0 {
			t.Errorf("%v in\n%s", mistakes, m[1])
		}
	}
	if met < 2 {
		t.Errorf("there are %d examples", met)
	}
}
