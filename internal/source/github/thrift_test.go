package github

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
)

var update = flag.Bool("update", false, "write the table of docs/sources.md")

// organization is the login of the last account, and its driver.
func (w *world) organization(t testing.TB, c *clock, names []string) *driver {
	t.Helper()
	logins := w.Logins()
	return w.driver(t, Options{Resources: names, Now: c.Now}, logins[len(logins)-1])
}

// spent is what one run takes.
type spent struct{ rest, free, points int }

func (w *world) spend(c *clock, d *driver) spent {
	w.ResetAudit()
	c.run(d)
	d.noFailures()
	graph := w.Audit().ByBucket[BucketGraphQL]
	return spent{rest: d.calls - d.free - graph, free: d.free, points: w.Audit().GraphQLPoints}
}

func (s spent) without(base spent) spent {
	return spent{rest: s.rest - base.rest, free: s.free - base.free, points: s.points - base.points}
}

// An organisation in which nothing changed: what is collected unless somebody says
// otherwise takes no call of REST but those of its members and teams, which are free,
// and few points.
func TestUnchangedOrganizationIsFree(t *testing.T) {
	repositories := 1000
	if testing.Short() {
		repositories = 200
	}
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 3, Accounts: 3, Organizations: 1, NoPollInterval: true, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(repositories), Commits: sim.Exactly(1), Issues: sim.Exactly(2), Pulls: sim.Exactly(2), Parts: sim.Between(0, 5)}})
	d := w.organization(t, c, StandardResources())
	first := w.spend(c, d)
	d.matches(mustTruth(t, w, d.login, time.Time{}), true)
	minimum, err := w.MinimumCalls(d.login)
	if err != nil {
		t.Fatal(err)
	}
	if calls := d.calls; float64(calls) > 1.05*float64(minimum.Total+minimum.Standard.Total) {
		t.Errorf("%d calls, the minimum is %d and %d", calls, minimum.Total, minimum.Standard.Total)
	}
	if paid := first.points; paid != d.asked[BucketGraphQL] {
		t.Errorf("asked for %d points, paid %d", d.asked[BucketGraphQL], paid)
	}
	again := w.spend(c, d)
	if per := float64(again.points) * 100 / float64(repositories); again.rest != 0 || again.free > 3 || per > 10 {
		t.Errorf("nothing changed, and %d calls of REST were charged, %d were free, and %.1f points for 100 repositories were", again.rest, again.free, per)
	}
	t.Logf("%d repositories: first %+v, unchanged %+v", repositories, first, again)
}

// somePrices are as many resources as the short form measures, by chance: of all of
// them it would take longer than everything else here.
func somePrices(t *testing.T) map[string]bool {
	t.Helper()
	all := resources()
	chance := rand.New(rand.NewPCG(testkit.Seed(t), 1))
	some := map[string]bool{}
	for _, i := range chance.Perm(len(all))[:testkit.Effort(6, len(all))] {
		some[all[i].name()] = true
	}
	return some
}

// The table of docs/sources.md is measured. What the short form does not measure
// stays as it is there.
func TestPricesAreDocumented(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 3, Accounts: 3, Organizations: 1, NoPollInterval: true, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(100), Commits: sim.Exactly(1), Issues: sim.Exactly(10), Pulls: sim.Exactly(5), Parts: sim.Between(0, 150)}})
	measure := func(names ...string) (first, again spent) {
		d := w.organization(t, c, names)
		first, again = w.spend(c, d), w.spend(c, d)
		return first, again
	}
	baseFirst, baseAgain := measure()
	var b strings.Builder
	b.WriteString("| resource | first run | by pages | unchanged |\n| --- | --- | --- | --- |\n")
	words := func(s spent) string {
		var parts []string
		for _, one := range []struct {
			n    int
			word string
		}{{s.rest, "calls"}, {s.free, "free calls"}, {s.points, "points"}} {
			switch {
			case one.n == 1:
				parts = append(parts, "1 "+strings.TrimSuffix(one.word, "s"))
			case one.n != 0:
				parts = append(parts, fmt.Sprintf("%d %s", one.n, one.word))
			}
		}
		if len(parts) == 0 {
			return "nothing"
		}
		return strings.Join(parts, ", ")
	}
	login := w.Logins()[2]
	minimum, err := w.MinimumCalls(login)
	if err != nil {
		t.Fatal(err)
	}
	m := minimum.Standard
	least := map[string]int{"comments": m.Comments, "review_comments": m.ReviewComments, "reviews": m.Reviews, "releases": m.Releases, "labels": m.Labels, "milestones": m.Milestones}
	some := somePrices(t)
	if *update {
		some = nil
	}
	for _, r := range resources() {
		if some != nil && !some[r.name()] {
			b.WriteString(documentedRow(t, "measured", r.name()))
			continue
		}
		first, again := measure(r.name())
		atLeast := "–" // it comes with the pull requests
		if n, ok := least[r.name()]; ok {
			atLeast = fmt.Sprint(n)
		} else if r.columns == "" {
			n, err := w.MinimumOf(login, string(r.kind.Kind))
			if err != nil {
				t.Fatal(err)
			}
			atLeast = fmt.Sprint(n)
			if paid := first.without(baseFirst); paid.rest+paid.points > n+n/10+3 {
				t.Errorf("%s: %+v, the minimum is %d", r.name(), paid, n)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.name(), words(first.without(baseFirst)), atLeast, words(again.without(baseAgain)))
		if paid := again.without(baseAgain); r.standard && (paid.rest != 0 || paid.free > 100) {
			t.Errorf("%s: unchanged, it takes %+v", r.name(), paid)
		}
	}
	first, again := measure(StandardResources()...)
	fmt.Fprintf(&b, "| all of the standard set | %s | %d | %s |\n", words(first.without(baseFirst)), m.Total, words(again.without(baseAgain)))
	fmt.Fprintf(&b, "| the rest of the run | %s | %d | %s |\n", words(baseFirst), minimum.Total, words(baseAgain))
	checkPage(t, "measured", b.String())
}

const documented = "../../../docs/sources.md"

// documentedRow is a row of a table of docs/sources.md.
func documentedRow(t *testing.T, mark, name string) string {
	t.Helper()
	page, err := os.ReadFile(documented)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "<!-- "+mark+" -->\n")
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| "+name+" |") {
			return line
		}
	}
	t.Errorf("%s has no row for %s (go test ./internal/source/github -run Documented -update)", documented, name)
	return ""
}

// checkPage compares what stands between two marks of docs/sources.md, or writes it there.
func checkPage(t *testing.T, mark, want string) {
	t.Helper()
	const path, end = documented, "<!-- end -->"
	begin := "<!-- " + mark + " -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", path)
	}
	switch {
	case got == want:
	case *update:
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has\n%s\nand it is\n%s\n(go test ./internal/source/github -run Documented -update)", path, got, want)
	}
}
