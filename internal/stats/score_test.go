package stats_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/stats"
)

const page = "../../docs/statistics.md"

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The worked example of the documentation is JSON, so that it can be redone.
func TestWorkedExampleOfTheDocumentation(t *testing.T) {
	text := readPage(t)
	found := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(text)
	if found == nil {
		t.Fatal("the page has no example")
	}
	var example struct {
		Figures stats.Figures `json:"figures"`
		Scores  stats.Scores  `json:"scores"`
	}
	decoder := json.NewDecoder(strings.NewReader(found[1]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&example); err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(example.Figures)
	for i := range v.NumField() {
		if v.Field(i).Int() == 0 {
			t.Errorf("the example leaves out %s", v.Type().Field(i).Name)
		}
	}
	if got := example.Figures.Scores(); got != example.Scores {
		t.Errorf("the page says %+v, but it is %+v", example.Scores, got)
	}
}

// Every field of the stored form is explained, under its JSON name.
func TestDocumentationNamesEveryFigure(t *testing.T) {
	text := readPage(t)
	for _, typ := range []reflect.Type{reflect.TypeFor[stats.Account](), reflect.TypeFor[stats.Standing](), reflect.TypeFor[stats.Totals]()} {
		eachName(typ, "", func(name string) {
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("%s does not explain `%s`", page, name)
			}
		})
	}
	for _, m := range stats.Measures() {
		if !strings.Contains(text, "`"+string(m)+"`") {
			t.Errorf("%s does not name the measure `%s`", page, m)
		}
	}
}

// eachName calls fn with the path of every leaf, such as "commits.own".
func eachName(typ reflect.Type, prefix string, fn func(string)) {
	for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ.Name() == "Time" || typ.Name() == "Streak" || prefix == "standings" {
		fn(prefix)
		return
	}
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if prefix != "" {
			name = prefix + "." + name
		}
		eachName(typ.Field(i).Type, name, fn)
	}
}

// More of anything never lowers a score, and each figure raises exactly one.
func TestScoresAreMonotone(t *testing.T) {
	r := randomness(t)
	for range 500 {
		var f stats.Figures
		v := reflect.ValueOf(&f).Elem()
		for i := range v.NumField() {
			v.Field(i).SetInt(r.Int64N(1 << r.IntN(12)))
		}
		before := f.Scores()
		field := v.Field(r.IntN(v.NumField()))
		field.SetInt(2*field.Int() + 1)
		after := f.Scores()
		activity, impact := after.Activity-before.Activity, after.Impact-before.Impact
		if activity < 0 || impact < 0 || (activity > 0) == (impact > 0) {
			t.Fatalf("%+v: activity rose by %v, impact by %v", f, activity, impact)
		}
	}
	if got := (stats.Figures{}).Scores(); got != (stats.Scores{}) {
		t.Errorf("nothing scores %+v", got)
	}
}
