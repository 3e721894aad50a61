// Package house holds the rules of the house that no linter knows.
package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	mostInterface = 10
	mostType      = 40
)

// What is too large still, by folder and name, and why. Nothing is to be added here.
var (
	tooLargeInterfaces []string
	// A call of GitHub's is what one request is about: the job, where its walk is, and
	// what was stored before. Its methods are what readers of pages ask of it, a file
	// for each kind of page; types of their own would each need all of it.
	tooLargeTypes = []string{"source/github.call"}
)

// wholeStores lists every part that a backend provides. Only what puts the parts
// together, and what tries all of them, takes one of them whole.
var wholeStores = map[string][]string{
	"state.Store":       {"wiring", "state"},
	"timer.Store":       {"wiring", "timer"},
	"refresh.Snapshots": {"wiring", "refresh", "load"},
	"document.Store":    {"wiring", "document"},
}

// product reports whether a folder holds what users get: no suites, no kits, no
// upstreams that are played.
func product(folder string) bool {
	first, _, _ := strings.Cut(folder, "/")
	return !strings.HasSuffix(folder, "test") && !slices.Contains([]string{"testkit", "simulator", "proof", "house"}, first)
}

// eachFile calls fn with every file of the product.
func eachFile(t *testing.T, fn func(folder string, file *ast.File)) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		folder := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), ".."+string(filepath.Separator)))
		if !product(folder) {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err == nil {
			fn(folder, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestInterfacesAndTypesAreSmall counts the methods that an interface declares
// itself, and those that a type has.
func TestInterfacesAndTypesAreSmall(t *testing.T) {
	interfaces, types := map[string]int{}, map[string]int{}
	eachFile(t, func(folder string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if declared, ok := n.Type.(*ast.InterfaceType); ok {
					interfaces[folder+"."+n.Name.Name] = ownMethods(declared)
				}
			case *ast.FuncDecl:
				if n.Recv != nil {
					types[folder+"."+receiver(n.Recv.List[0].Type)]++
				}
			}
			return true
		})
	})
	if len(interfaces) < 20 || len(types) < 100 {
		t.Fatalf("found %d interfaces and %d types: the test looks in the wrong place", len(interfaces), len(types))
	}
	compare(t, "interface", interfaces, mostInterface, tooLargeInterfaces)
	compare(t, "type", types, mostType, tooLargeTypes)
}

func ownMethods(declared *ast.InterfaceType) (n int) {
	for _, field := range declared.Methods.List {
		if _, method := field.Type.(*ast.FuncType); method {
			n += len(field.Names)
		}
	}
	return n
}

// receiver names the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func compare(t *testing.T, what string, sizes map[string]int, most int, known []string) {
	t.Helper()
	for name, n := range sizes {
		if large := n > most; large != slices.Contains(known, name) {
			if large {
				t.Errorf("the %s %s has %d methods; at most %d: split it by who uses it", what, name, n, most)
			} else {
				t.Errorf("the %s %s has %d methods: take it off the list of those that are too large", what, name, n)
			}
		}
	}
	for _, name := range known {
		if _, there := sizes[name]; !there {
			t.Errorf("there is no %s %s any more: take it off the list of those that are too large", what, name)
		}
	}
}

// TestNobodyTakesAWholeStore finds who names one.
func TestNobodyTakesAWholeStore(t *testing.T) {
	eachFile(t, func(folder string, file *ast.File) {
		first, _, _ := strings.Cut(folder, "/")
		ast.Inspect(file, func(n ast.Node) bool {
			// That a type is one of them is what every backend says.
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == 1 && spec.Names[0].Name == "_" {
				return false
			}
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if of, ok := selector.X.(*ast.Ident); ok {
				name := of.Name + "." + selector.Sel.Name
				if allowed, whole := wholeStores[name]; whole && !slices.Contains(allowed, first) {
					t.Errorf("%s takes all of %s; name the parts that it uses", folder, name)
				}
			}
			return true
		})
	})
}
