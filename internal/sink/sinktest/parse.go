package sinktest

import (
	"encoding/json"
	"testing"

	"sluice/internal/document"
)

// ParseJSON reads a value of a row that was carried as JSON; one that is not there is
// null.
func ParseJSON(t testing.TB, of document.Type, text []byte) (v document.Value) {
	t.Helper()
	if text == nil || string(text) == "null" {
		return document.Value{Null: true}
	}
	var err error
	switch of {
	case document.TypeText:
		err = json.Unmarshal(text, &v.Text)
	case document.TypeInteger:
		err = json.Unmarshal(text, &v.Integer)
	case document.TypeBoolean:
		err = json.Unmarshal(text, &v.Boolean)
	case document.TypeInstant:
		err = json.Unmarshal(text, &v.Instant)
	case document.TypeList:
		v.Text = string(text)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
