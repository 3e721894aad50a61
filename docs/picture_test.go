// Package docs_test checks what the documentation says about the code: the
// picture of its rooms is drawn from the imports, and the files that it names
// exist.
package docs_test

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/architecture.svg anew")

const module = "sluice/"

// group is a box of the picture: rooms that stand at the same height.
type group struct {
	name string
	row  int
	// rooms are packages by their paths, or all below one that ends in "/*".
	rooms []string
}

// groups stand in rows from the top; what is imported stands lower. A room that
// none of them names is added to the ground if it knows nothing else, and to the
// work otherwise.
var groups = []group{
	{"the program", 0, []string{"cmd/*"}},
	{"the surface", 1, []string{"internal/cli", "internal/client", "internal/httpapi", "internal/metrics", "internal/web"}},
	{"the assembly", 1, []string{"internal/wiring"}},
	{"settings and wire", 2, []string{"internal/config", "internal/httpapi/wire"}},
	{"backends", 2, []string{"internal/backend/*"}},
	{"sources", 3, []string{"internal/source/*", "internal/sources", "internal/catalogue"}},
	{"simulated upstreams", 2, []string{"internal/simulator/*", "internal/load", "internal/verify"}},
	{"the work", 3, []string{"internal/engine", "internal/engine/*", "internal/refresh", "internal/timer", "internal/stats"}},
	{"ports", 4, []string{
		"internal/state", "internal/document", "internal/dispatch", "internal/due", "internal/quota", "internal/quota/rate", "internal/source",
		"internal/ration/keeper", "internal/watch",
	}},
	{"the ground", 5, []string{"internal/domain"}},
}

const theWork, theGround = "the work", "the ground"

// TestPicture compares docs/architecture.svg with the imports, and the imports
// with the order of the picture's rows.
func TestPicture(t *testing.T) {
	imports := importsOf(t)
	places := placesOf(imports)
	for from, tos := range imports {
		for _, to := range tos {
			if a, b := places[from], places[to]; a.row > b.row || a.row == b.row && a.name != b.name {
				t.Errorf("%s (%s) imports %s (%s), which does not stand lower", from, a.name, to, b.name)
			}
		}
	}
	if t.Failed() {
		t.FailNow() // groups that know each other cannot be drawn
	}
	drawn := draw(places, arrows(imports, places))
	if *update {
		if err := os.WriteFile("architecture.svg", []byte(drawn), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	there, err := os.ReadFile("architecture.svg")
	if err != nil || string(there) != drawn {
		t.Errorf("docs/architecture.svg is not what the imports say (%v): go test ./docs -update", err)
	}
}

// importsOf reads which rooms know which others. What is there for tests alone
// is left out.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	for _, top := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			room := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../")
			if forTests(room) {
				return nil
			}
			source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			known := imports[room]
			for _, one := range source.Imports {
				name, err := strconv.Unquote(one.Path.Value)
				if other, ours := strings.CutPrefix(name, module); err == nil && ours && !slices.Contains(known, other) {
					known = append(known, other)
				}
			}
			imports[room] = known
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return imports
}

func forTests(room string) bool {
	return strings.HasSuffix(path.Base(room), "test") ||
		strings.HasPrefix(room, "internal/testkit") || strings.HasPrefix(room, "internal/proof")
}

// placesOf finds the group of every room.
func placesOf(imports map[string][]string) map[string]*group {
	places := map[string]*group{}
	by := map[string]*group{}
	for i := range groups {
		by[groups[i].name] = &groups[i]
	}
	for room, knows := range imports {
		places[room] = by[theWork]
		if !slices.ContainsFunc(knows, func(other string) bool { return other != "internal/domain" }) {
			places[room] = by[theGround]
		}
		for i := range groups {
			if slices.ContainsFunc(groups[i].rooms, func(pattern string) bool {
				below, all := strings.CutSuffix(pattern, "*")
				return all && strings.HasPrefix(room, below)
			}) {
				places[room] = &groups[i]
			}
		}
		// Who is named by itself stands where it is named.
		for i := range groups {
			if slices.Contains(groups[i].rooms, room) {
				places[room] = &groups[i]
			}
		}
	}
	return places
}

// arrows lead from a group to those that it imports, without those that are
// implied by others.
func arrows(imports map[string][]string, places map[string]*group) (out [][2]string) {
	knows := map[string]map[string]bool{}
	for from, tos := range imports {
		for _, to := range tos {
			if a, b := places[from].name, places[to].name; a != b {
				if knows[a] == nil {
					knows[a] = map[string]bool{}
				}
				knows[a][b] = true
			}
		}
	}
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		for next := range knows[from] {
			if next == to || reaches(next, to) {
				return true
			}
		}
		return false
	}
	for _, from := range groups {
		for _, to := range groups {
			if !knows[from.name][to.name] {
				continue
			}
			implied := false
			for between := range knows[from.name] {
				implied = implied || between != to.name && reaches(between, to.name)
			}
			if !implied {
				out = append(out, [2]string{from.name, to.name})
			}
		}
	}
	return out
}

// box is where a group is drawn.
type box struct {
	group
	rooms      []string
	x, y, w, h int
	columns    int
}

const (
	pictureWidth = 1060
	margin       = 20
	roomHeight   = 18
	columnWidth  = 140
	rowGap       = 46
)

// layout gives every group its place: rows below each other, boxes as wide as
// their rooms need.
func layout(places map[string]*group) (boxes []*box, height int) {
	y := margin
	for row := 0; ; row++ {
		var in []*box
		for i := range groups {
			if groups[i].row == row {
				b := &box{group: groups[i]}
				for room, g := range places {
					if g.name == b.name {
						b.rooms = append(b.rooms, strings.TrimPrefix(strings.TrimPrefix(room, "internal/"), "backend/"))
					}
				}
				slices.Sort(b.rooms)
				in = append(in, b)
			}
		}
		if len(in) == 0 {
			return boxes, y - rowGap + margin
		}
		tallest, width := 0, margin*(len(in)-1)
		for _, b := range in {
			// About four rooms under each other.
			b.columns = max(1, (len(b.rooms)+3)/4)
			b.w = b.columns*columnWidth + 20
			b.h = 34 + roomHeight*((len(b.rooms)+b.columns-1)/b.columns)
			tallest, width = max(tallest, b.h), width+b.w
		}
		x := (pictureWidth - width) / 2
		for _, b := range in {
			b.x, b.y, b.h = x, y, tallest
			x += b.w + margin
		}
		boxes = append(boxes, in...)
		y += tallest + rowGap
	}
}

// draw renders the picture.
func draw(places map[string]*group, arrows [][2]string) string {
	boxes, height := layout(places)
	by := map[string]*box{}
	for _, b := range boxes {
		by[b.name] = b
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">
<title>The rooms of Sluice and which know which. Drawn by docs/picture_test.go from the imports.</title>
<defs><marker id="head" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto"><path d="M0,0 L9,4 L0,8 z" fill="#557"/></marker></defs>
<rect width="%d" height="%d" fill="#fff"/>
`, pictureWidth, height, pictureWidth, height)
	from, to := map[string]int{}, map[string]int{}
	for _, a := range arrows {
		from[a[0]]++
		to[a[1]]++
	}
	out.WriteString("<g stroke=\"#557\" fill=\"none\" stroke-width=\"1.4\" marker-end=\"url(#head)\">\n")
	left, entered := map[string]int{}, map[string]int{}
	slices.SortStableFunc(arrows, func(a, b [2]string) int { return by[a[1]].x - by[b[1]].x })
	exits := map[[2]string]int{}
	for _, a := range arrows {
		left[a[0]]++
		exits[a] = by[a[0]].x + by[a[0]].w*left[a[0]]/(from[a[0]]+1)
	}
	slices.SortStableFunc(arrows, func(a, b [2]string) int { return by[a[0]].x - by[b[0]].x })
	for _, a := range arrows {
		entered[a[1]]++
		x, y := exits[a], by[a[0]].y+by[a[0]].h
		tx, ty := by[a[1]].x+by[a[1]].w*entered[a[1]]/(to[a[1]]+1), by[a[1]].y-2
		bend := (ty - y) / 2
		fmt.Fprintf(&out, "<path d=\"M%d,%d C%d,%d %d,%d %d,%d\"/>\n", x, y, x, y+bend, tx, ty-bend, tx, ty)
	}
	out.WriteString("</g>\n")
	for _, b := range boxes {
		fmt.Fprintf(&out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"#eef2f8\" stroke=\"#557\"/>\n", b.x, b.y, b.w, b.h)
		fmt.Fprintf(&out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\" fill=\"#224\">%s</text>\n", b.x+12, b.y+20, b.name)
		perColumn := (len(b.rooms) + b.columns - 1) / b.columns
		for i, room := range b.rooms {
			fmt.Fprintf(&out, "<text x=\"%d\" y=\"%d\" fill=\"#224\">%s</text>\n", b.x+12+i/perColumn*columnWidth, b.y+40+i%perColumn*roomHeight, room)
		}
	}
	out.WriteString("</svg>\n")
	return out.String()
}
