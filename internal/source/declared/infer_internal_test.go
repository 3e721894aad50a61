package declared

import (
	"reflect"
	"testing"

	"github.com/tidwall/gjson"
)

// TestInfer: columns follow what the records of a page have, by type, those first that
// all of them have; the lines that are proposed are a file's.
func TestInfer(t *testing.T) {
	records := gjson.Parse(`[
		{"id":1,"name":"a","createdAt":"2026-01-02T03:04:05Z","price":12,"open":true,"tags":["x"],"owner":{"login":"b","deep":{"er":1}},"parts":[{"a":1}],"mixed":1,"source":"s"},
		{"id":2,"name":"b","createdAt":"2026-01-02T03:04:06Z","price":null,"open":false,"tags":[],"owner":null,"mixed":"one","source":"s","rate":1.5,"some thing":1,"day":"2026-01-02","none":null}
	]`).Array()
	s := &Stream{Name: "items", key: []string{"id"}, title: "name"}
	lines := columnLines(s.infer(records))
	want := []string{
		"columns:", "  created_at: {at: createdAt, type: instant}", "  open: {at: open, type: boolean}", "  tags: {at: tags, type: list}", "  mixed: mixed", "  its_source: source",
		"  price: {at: price, type: integer}", "  owner_login: owner.login", "  rate: rate", "  day: day",
	}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	if got := columnLines(s.infer(nil)); got != nil {
		t.Errorf("%q", got)
	}
	text := "source: xx\nbase: https://x.example\nration: unknown\nstreams:\n  items:\n    get: /items\n    key: id\n"
	for _, line := range lines {
		text += "    " + line + "\n"
	}
	f, mistakes := Load([]byte(text))
	if len(mistakes) > 0 || len(f.Streams[0].columns) != len(lines)-1 {
		t.Fatalf("%v", mistakes)
	}
	if err := f.Describe().Kinds.Check(); err != nil {
		t.Error(err)
	}
}
