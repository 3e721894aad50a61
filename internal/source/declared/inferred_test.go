package declared_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/internal/document"
	"sluice/internal/source/declared"
)

const bareGoods = `
source: bare
base: https://bare.example
ration: {all: {per: source, calls: 50, every: 1s, shape: sliding}}
streams:
  goods: {get: /goods, key: id}
  said: {get: /said, key: id, columns: {price: price}}
`

func openBare(t *testing.T) *declared.Source {
	t.Helper()
	s, err := declared.New(load(t, bareGoods), declared.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestInferOnce: columns are of bounded number, go round names that others have with
// another type, and mean the same to whoever adopts them.
func TestInferOnce(t *testing.T) {
	s := openBare(t)
	if kinds := s.Uninferred(); len(kinds) != 1 || kinds[0] != "bare_goods" {
		t.Fatalf("%v", kinds)
	}
	if text := s.Infer("bare_goods", nil, nil); text != nil {
		t.Errorf("of nothing: %s", text)
	}
	var many strings.Builder
	many.WriteString(`{"id":1,"price":3,"sold":true`)
	for i := range 40 {
		fmt.Fprintf(&many, `,"f%d":"x"`, i)
	}
	many.WriteString("}")
	text := s.Infer("bare_goods", [][]byte{[]byte(many.String())}, map[string]document.Type{"price": document.TypeText, "sold": document.TypeText, "sold_boolean": document.TypeText})
	kept, err := declared.ReadInference(text)
	if err != nil || len(kept.Columns) != 23 || kept.Columns[0] != (declared.InferredColumn{Name: "price_integer", At: "price", Type: document.TypeInteger}) {
		t.Fatalf("%d columns, %v: %s", len(kept.Columns), err, text)
	}
	other := openBare(t)
	if err := other.Adopt("bare_goods", text, nil); err != nil || len(other.Uninferred()) != 0 {
		t.Fatalf("%v, %v", err, other.Uninferred())
	}
	kind := other.Describe().Kinds.Of("bare_goods")
	var f document.Fields
	kind.Read([]byte(`{"id":2,"price":1.5,"f0":{"a":1},"f99":"new"}`), &f)
	if v, there := f.Own["price_integer"]; there {
		t.Errorf("1.5 is the integer %+v", v)
	}
	if f.Own["f0"].Text != `{"a":1}` || len(f.Own) != 1 {
		t.Errorf("%+v", f.Own)
	}
	again, err := declared.ReadInference(other.Inferred()["bare_goods"])
	if err != nil || again.Misfits["price_integer"] != 1 || len(again.Columns) != 23 {
		t.Errorf("%+v, %v", again, err)
	}
	// What another kind declares by the same name wins too, and nothing is forgotten.
	third := openBare(t)
	if err := third.Adopt("bare_goods", text, map[string]document.Type{"f1": document.TypeInteger}); err != nil {
		t.Fatal(err)
	}
	if kept, _ := declared.ReadInference(third.Inferred()["bare_goods"]); len(kept.Columns) != 23 || len(third.Describe().Kinds.Own()) != 23 {
		t.Errorf("%d are kept, %d are there", len(kept.Columns), len(third.Describe().Kinds.Own()))
	}
	// What a file declares wins, and nonsense is no list of columns.
	if err := other.Adopt("bare_said", text, nil); err != nil || len(other.Describe().Kinds.Of("bare_said").Columns) > 8 {
		t.Errorf("%v", err)
	}
	if err := openBare(t).Adopt("bare_goods", []byte("{"), nil); err == nil {
		t.Error("nonsense is adopted")
	}
}
