package airbyte_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/source/declared/airbyte"
)

// TestHostile: manifests that go round in circles, are huge, or have anything
// anywhere are refused or told in part, with reasons, and nothing panics.
func TestHostile(t *testing.T) {
	circle := "streams:\n  - $ref: '#/definitions/a'\ndefinitions:\n  a: {$ref: '#/definitions/b'}\n  b: {$ref: '#/definitions/a'}\n"
	own := head + stream("orders", `      partition_router: {type: SubstreamPartitionRouter, parent_stream_configs: [{parent_key: id, partition_field: x, stream: "#/streams/0"}]}`+"\n")
	for name, text := range map[string]string{
		"nothing": "", "a text": "hello", "a list": "- a", "no YAML": "a: [", "no streams": "version: 1",
		"a circle": circle, "its own parent": own, "huge": strings.Repeat("# x\n", 3<<20),
		"reference to itself": "streams: '#/streams'", "reference to nowhere": "streams:\n  - '#/definitions/x/0/y'",
		"aliases": "a: &a [1, 2]\nstreams: [*a, *a]", "wrong types": "streams: {name: 1}\nspec: []\napi_budget: 3\ndynamic_streams: x",
		"streams of numbers": "streams: [1, 2.5, null, true, [], {}]",
	} {
		res, err := airbyte.Import("x", []byte(text))
		if err == nil {
			t.Errorf("%s becomes\n%s", name, res.File)
			continue
		}
		if domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWrongShapes: whatever stands in the place of any part of a manifest, what comes
// out can be planned, or there is a reason.
func TestWrongShapes(t *testing.T) {
	whole := head + stream("orders", `      paginator:
        type: DefaultPaginator
        pagination_strategy: {type: PageIncrement, page_size: 50}
        page_token_option: {type: RequestOption, inject_into: request_parameter, field_name: page}
`) + `    transformations: [{type: AddFields, fields: [{path: [a], value: "{{ record.x }}"}]}]
    incremental_sync: {type: DatetimeBasedCursor, cursor_field: u, datetime_format: "%s", start_datetime: "2020-01-01"}
`
	lines := strings.Split(whole, "\n")
	for i, line := range lines {
		key, _, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		for _, other := range []string{"[]", "{}", "1", "null", "[[{a: [1]}]]", "'{{'", "{type: 5, name: [x]}"} {
			changed := append([]string{}, lines...)
			changed[i] = key + ": " + other
			res, err := airbyte.Import("shop", []byte(strings.Join(changed, "\n")))
			if err == nil {
				plan(t, res)
			}
		}
	}
}

// TestMany: a manifest of many streams is told in the time that it takes to read it,
// and not once more for each.
func TestMany(t *testing.T) {
	var all strings.Builder
	all.WriteString(head)
	for i := range 300 {
		all.WriteString(stream(fmt.Sprintf("orders-%d", i), ""))
	}
	res := imported(t, all.String())
	if f := plan(t, res); len(f.Streams) != 300 || res.Missing != 0 {
		t.Errorf("%d streams, %d missing", len(f.Streams), res.Missing)
	}
}
