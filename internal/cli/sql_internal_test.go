package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/internal/httpapi/wire"
)

func sqlAnswer() wire.SQLAnswer {
	raw := func(values ...string) (row []json.RawMessage) {
		for _, v := range values {
			row = append(row, json.RawMessage(v))
		}
		return row
	}
	return wire.SQLAnswer{Columns: []string{"title", "n", "n"}, Rows: [][]json.RawMessage{
		raw(`"a very long title, with \"quotes\"\nand a second line \u001b[31m"`, "9223372036854775807", "null"), raw(`"한국어"`, "-1.5", "7"),
	}}
}

func TestSQLTableFits(t *testing.T) {
	for _, width := range []int{0, 30, 40, 60, 200} {
		var out bytes.Buffer
		sqlTable(&out, sqlAnswer(), width)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 4 || strings.Contains(out.String(), "\x1b") {
			t.Fatalf("at %d it is\n%q", width, out.String())
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); width > 0 && n > width {
				t.Errorf("at %d a line has %d characters: %s", width, n, line)
			}
		}
		if cut := strings.Contains(out.String(), "…"); cut != (width > 0 && width < 80) {
			t.Errorf("at %d something is cut: %v\n%s", width, cut, out.String())
		}
		if (width == 0 || width > 50) && !strings.Contains(lines[2], "9223372036854775807") {
			t.Errorf("at %d the number is cut:\n%s", width, out.String())
		}
	}
}

func TestSQLFormats(t *testing.T) {
	var out bytes.Buffer
	if err := sqlCSV(&out, sqlAnswer()); err != nil {
		t.Fatal(err)
	}
	if want := "title,n,n\r\n\"a very long title, with \"\"quotes\"\"\nand a second line \x1b[31m\",9223372036854775807,\r\n한국어,-1.5,7\r\n"; out.String() != want {
		t.Errorf("the CSV is %q", out.String())
	}
	out.Reset()
	if err := sqlJSON(&out, sqlAnswer()); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []struct {
			N1 json.Number  `json:"n"`
			N2 *json.Number `json:"n_2"`
		} `json:"items"`
	}
	if err := json.Unmarshal(out.Bytes(), &list); err != nil || len(list.Items) != 2 || list.Items[0].N1 != "9223372036854775807" || list.Items[0].N2 != nil {
		t.Errorf("the JSON is %s, %v", out.String(), err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("a terminal would obey it")
	}
}
