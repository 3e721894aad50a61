package house

import (
	"go/ast"
	"go/printer"
	"go/token"
	"slices"
	"strings"
	"testing"
)

const (
	// A twin is a function that another package has under the same name, with a
	// body that is alike by more than this.
	alike = 0.7
	// mostTwins is which share of a store's functions may have one. What is one
	// statement long, such as a constructor, decides nothing and is not counted.
	mostTwins = 0.06
)

// TestStoresHaveFewTwins: what two stores do in the same way belongs beside the
// port, where both can use it.
func TestStoresHaveFewTwins(t *testing.T) {
	const store, other = "backend/sqlite", "backend/relational"
	bodies := map[string]map[string][]string{store: {}, other: {}}
	all := 0
	eachFile(t, func(folder string, file *ast.File) {
		of := bodies[folder]
		if of == nil {
			return
		}
		for _, declared := range file.Decls {
			fn, ok := declared.(*ast.FuncDecl)
			if !ok || fn.Body == nil || len(fn.Body.List) < 2 {
				continue
			}
			of[fn.Name.Name] = append(of[fn.Name.Name], normalised(t, fn.Body))
			if folder == store {
				all++
			}
		}
	})
	var twins []string
	for name, mine := range bodies[store] {
		for _, body := range mine {
			if slices.ContainsFunc(bodies[other][name], func(o string) bool { return likeness(body, o) > alike }) {
				twins = append(twins, name)
			}
		}
	}
	slices.Sort(twins)
	if all < 100 || len(bodies[other]) < 100 {
		t.Fatalf("found %d and %d functions: the test looks in the wrong place", all, len(bodies[other]))
	}
	t.Logf("%d of %d functions of %s have a twin in %s: %s", len(twins), all, store, other, strings.Join(twins, " "))
	if share := float64(len(twins)) / float64(all); share > mostTwins {
		t.Errorf("that is %.0f %%; at most %.0f %%: move what is the same beside the port", 100*share, 100*mostTwins)
	}
}

// normalised is code without comments and without the blanks that mean nothing.
func normalised(t *testing.T, body *ast.BlockStmt) string {
	t.Helper()
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), body); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// likeness is how much of two texts is the same, from 0 to 1: twice what their
// longest common parts have together, by the length of both (Ratcliff and
// Obershelp's measure).
func likeness(a, b string) float64 {
	most := float64(len(a)+len(b)) / 2
	var counts [256]int
	for i := range len(b) {
		counts[b[i]]++
	}
	shared := 0
	for i := range len(a) {
		if counts[a[i]] > 0 {
			counts[a[i]]--
			shared++
		}
	}
	// It cannot be more than the letters that both have.
	if float64(shared)/most <= alike {
		return 0
	}
	var places [256][]int
	for i := range len(b) {
		places[b[i]] = append(places[b[i]], i)
	}
	return float64(common(a, &places, 0, len(a), 0, len(b))) / most
}

// common is the length of the longest part that a[fromA:toA] and b[fromB:toB] have in
// common, of those before it and of those after it.
func common(a string, places *[256][]int, fromA, toA, fromB, toB int) int {
	at, in, longest := fromA, fromB, 0
	// Of each place in b: how long a part ends there, and with which letter of a.
	lengths, with := make([]int, toB-fromB+1), make([]int, toB-fromB+1)
	for i := fromA; i < toA; i++ {
		for _, j := range slices.Backward(places[a[i]]) {
			if j < fromB || j >= toB {
				continue
			}
			n, place := 1, j-fromB+1
			if with[place-1] == i { // the letter before
				n = lengths[place-1] + 1
			}
			lengths[place], with[place] = n, i+1
			if n > longest {
				at, in, longest = i-n+1, j-n+1, n
			}
		}
	}
	if longest == 0 {
		return 0
	}
	return longest + common(a, places, fromA, at, fromB, in) + common(a, places, at+longest, toA, in+longest, toB)
}

func TestLikeness(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{{"abcd", "abcd", 1}, {"abcdefgh", "abcdefgx", 0.875}, {"abcd", "wxyz", 0}, {"xabcdefghy", "abcdefgh", 16. / 18}} {
		if got := likeness(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
