// Package recipes_test asks every question of docs/recipes.md in each of its three
// ways, of one simulated set of data, and compares the answers.
package recipes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

func TestMain(m *testing.M) { os.Exit(sluice.Main(m)) }

// recipe is a question and its three ways.
type recipe struct {
	title  string
	blocks map[string]string
}

var (
	headings = regexp.MustCompile(`(?m)^## (.+)$`)
	fences   = regexp.MustCompile("(?s)```(sql|duckdb|python)\n(.*?)```")
)

// recipes reads them from the document.
func recipes(t *testing.T) (all []recipe) {
	t.Helper()
	root, err := testkit.Repository()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "recipes.md"))
	if err != nil {
		t.Fatal(err)
	}
	starts := headings.FindAllStringSubmatchIndex(string(text), -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		r := recipe{title: string(text[at[2]:at[3]]), blocks: map[string]string{}}
		for _, block := range fences.FindAllStringSubmatch(string(text[at[0]:end]), -1) {
			r.blocks[block[1]] += block[2]
		}
		if len(r.blocks) != 3 {
			t.Fatalf("%s has %d ways, not 3", r.title, len(r.blocks))
		}
		all = append(all, r)
	}
	if len(all) < 10 {
		t.Fatalf("there are %d recipes", len(all))
	}
	return all
}

// python is an interpreter that has DuckDB and pandas.
func python(t *testing.T) string {
	t.Helper()
	root, err := testkit.Repository()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, ".tools", "data", "python", "bin", "python")
	if _, err := os.Stat(path); err != nil {
		testkit.Lacks(t, "DuckDB and pandas", "scripts/data-tools gets them: "+err.Error())
	}
	return path
}

type answer struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

func TestRecipes(t *testing.T) {
	interpreter, all := python(t), recipes(t)
	u := sluice.NewUpstream(t, sim.Options{Seed: 11, Accounts: 3})
	dir, files := t.TempDir(), t.TempDir()
	sluice.Run(t, nil, u.Collect(dir)...).Expect(t, 0)
	for _, kind := range []string{"commits", "issues", "pulls", "repositories", "events"} {
		sluice.Run(t, nil, "export", "--data-dir", dir, "--kind", kind, "--out", filepath.Join(files, kind+".parquet")).Expect(t, 0)
	}
	var blocks [][2]string
	for _, r := range all {
		blocks = append(blocks, [2]string{"duckdb", r.blocks["duckdb"]}, [2]string{"python", r.blocks["python"]})
	}
	elsewhere := askPython(t, interpreter, files, blocks)
	for i, r := range all {
		t.Run(strings.ReplaceAll(r.title, " ", "-"), func(t *testing.T) {
			var out struct {
				Items []json.RawMessage `json:"items"`
			}
			shown := sluice.Run(t, nil, "sql", r.blocks["sql"], "--data-dir", dir, "--output", "json").Expect(t, 0).Out
			if err := json.Unmarshal([]byte(shown), &out); err != nil {
				t.Fatal(err)
			}
			if len(out.Items) == 0 {
				t.Fatal("the data has no answer")
			}
			duck, pandas := elsewhere[2*i], elsewhere[2*i+1]
			if want := fmt.Sprint(duck.Columns); fmt.Sprint(pandas.Columns) != want {
				t.Fatalf("DuckDB has the columns %s, and pandas %s", want, pandas.Columns)
			}
			ours := rowsOf(t, out.Items, duck.Columns)
			if compare(t, "DuckDB", ours, duck.Rows) && compare(t, "pandas", ours, pandas.Rows) {
				t.Logf("%d rows", len(ours))
			}
		})
	}
}

func askPython(t *testing.T, interpreter, folder string, blocks [][2]string) (answers []answer) {
	t.Helper()
	in, err := json.Marshal(blocks)
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("testdata", "ask.py"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), interpreter, script)
	command.Dir, command.Stdin = folder, bytes.NewReader(in)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err == nil {
		err = json.Unmarshal(out, &answers)
	}
	if err != nil || len(answers) != len(blocks) {
		t.Fatalf("%v, %d answers\n%s", err, len(answers), complaint.String())
	}
	return answers
}

// rowsOf are the rows of objects.
func rowsOf(t *testing.T, items []json.RawMessage, columns []string) (rows [][]any) {
	t.Helper()
	for _, item := range items {
		fields := map[string]any{}
		if err := json.Unmarshal(item, &fields); err != nil {
			t.Fatal(err)
		}
		row := make([]any, len(columns))
		for i, name := range columns {
			value, there := fields[name]
			if !there || len(fields) != len(columns) {
				t.Fatalf("there is no column %s in %s", name, item)
			}
			row[i] = value
		}
		rows = append(rows, row)
	}
	return rows
}

// compare holds two answers against each other, in their order. What is rounded to
// a tenth may be another tenth, and SQLite says 1 for true.
func compare(t *testing.T, who string, ours, theirs [][]any) bool {
	t.Helper()
	if len(ours) != len(theirs) {
		t.Errorf("sluice has %d rows, %s has %d:\n%v\n%v", len(ours), who, len(theirs), ours, theirs)
		return false
	}
	for i := range ours {
		for k := range ours[i] {
			if !alike(ours[i][k], theirs[i][k]) {
				t.Errorf("in row %d sluice has %v, %s has %v", i, ours[i], who, theirs[i])
				return false
			}
		}
	}
	return true
}

func alike(a, b any) bool {
	x, isNumber := number(a)
	y, both := number(b)
	if isNumber && both {
		return math.Abs(x-y) < 0.1001
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case bool:
		if n {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}
