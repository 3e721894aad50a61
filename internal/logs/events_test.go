package logs_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/logs"
)

var update = flag.Bool("update", false, "write docs/logs.md")

const page = "../../docs/logs.md"

// TestEveryEventIsLogged: what the table says is what the code logs, at the level
// that it says, so that no name stands for nothing.
func TestEveryEventIsLogged(t *testing.T) {
	logged := loggedTexts(t)
	seen := map[string]bool{}
	form := regexp.MustCompile(`^[a-z]+(\.[a-z_]+)$`)
	for _, e := range logs.Events() {
		levels, known := logged[e.Text]
		if !known || !strings.Contains(levels, e.Level.String()) {
			t.Errorf("%s: nobody logs %q at %s, but at %q", e.Name, e.Text, e.Level, levels)
		}
		if seen[e.Name] || seen[e.Text] || !form.MatchString(e.Name) || e.Tells == "" || logs.EventName(e.Text) != e.Name {
			t.Errorf("%+v is not as the others", e)
		}
		seen[e.Name], seen[e.Text] = true, true
	}
	for _, want := range []string{"job completed", "rate limit", "stuck job", "run completed", "scheduler sleeping", "promoted", "statistics failed"} {
		found := false
		for _, e := range logs.Events() {
			found = found || strings.Contains(e.Document, want)
		}
		if !found {
			t.Errorf("document 000 §9.5 asks for %q", want)
		}
	}
}

// loggedTexts are the messages that the code logs, with their levels.
func loggedTexts(t *testing.T) map[string]string {
	t.Helper()
	texts, constants := map[string]string{}, map[string]string{}
	var owed []*ast.CallExpr
	set := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) {
						if text, ok := literal(n.Values[i]); ok {
							constants[name.Name] = text
						}
					}
				}
			case *ast.CallExpr:
				owed = append(owed, n)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range owed {
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		level, known := map[string]slog.Level{"Debug": slog.LevelDebug, "Info": slog.LevelInfo, "Warn": slog.LevelWarn, "Error": slog.LevelError, "Log": slog.LevelInfo}[strings.TrimSuffix(method.Sel.Name, "Context")]
		if !known {
			continue
		}
		for _, argument := range call.Args[:min(len(call.Args), 3)] {
			text, ok := literal(argument)
			if name, isName := argument.(*ast.Ident); isName {
				text, ok = constants[name.Name], constants[name.Name] != ""
			}
			if ok {
				texts[text] += level.String() + " "
				break
			}
		}
	}
	return texts
}

func literal(e ast.Expr) (string, bool) {
	text, ok := e.(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(text.Value)
	return value, err == nil
}

// TestPage compares docs/logs.md with the table.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil && !*update {
		t.Fatal(err)
	}
	const mark = "<!-- made from internal/logs/events.go: go test ./internal/logs -update -->\n"
	before, _, _ := strings.Cut(string(text), mark)
	var table strings.Builder
	table.WriteString(before + mark + "\n| event | level | what it tells | asked for by |\n| --- | --- | --- | --- |\n")
	for _, e := range logs.Events() {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", e.Name, strings.ToLower(e.Level.String()), e.Tells, e.Document)
	}
	if *update {
		if err := os.WriteFile(page, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != table.String() {
		t.Error("docs/logs.md is not what the table says: go test ./internal/logs -update")
	}
}
