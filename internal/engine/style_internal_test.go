package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/dispatch"
)

// logKeys are the keys of the package's log lines: who searches for a run, a
// job, an account, an owner or a chore finds all lines about it.
var logKeys = []string{
	"run", "job", "account", "owner", "chore", "login", "error", "reason", "jobs", "changes", "leases", "status", "calls", "failed_jobs",
	"in", "at", "priority", "trigger", "type", "kind", "attempt", "items", "next", "not_before", "late", "lost",
	"waiting_jobs", "running_jobs", "jobs_without_worker", "interrupted_runs", "succeeded_jobs", "took", "wait", "verdict",
}

// passedOn are the functions that log a message that they were given, and where
// among their arguments it stands.
var passedOn = map[string]int{"postpone": 2, "postponeForStore": 2, "add": 0}

// A log line says what happened, in a sentence, under keys that stay the same.
func TestLogLinesAreSentences(t *testing.T) {
	files := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	for _, name := range names {
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		constants := constantsOf(file)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			where := files.Position(call.Pos())
			if isLog(call) {
				checkKeys(t, where, call.Args[1:])
				if message, ok := text(call.Args[0], constants); ok {
					messages++
					checkSentence(t, where, message)
				}
			} else if i, ok := passedOn[method(call)]; ok && i < len(call.Args) {
				if message, ok := text(call.Args[i], constants); ok {
					messages++
					checkSentence(t, where, message)
				}
			}
			return true
		})
	}
	if messages < 40 {
		t.Errorf("only %d log messages were found", messages)
	}
}

// method is the name of the method that is called, "" if none is.
func method(call *ast.CallExpr) string {
	if s, ok := call.Fun.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

func isLog(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, s.Sel.Name) || len(call.Args) == 0 {
		return false
	}
	logger, ok := s.X.(*ast.SelectorExpr)
	return ok && strings.EqualFold(logger.Sel.Name, "log")
}

// constantsOf are the values of a file's constants, by name.
func constantsOf(file *ast.File) map[string]ast.Expr {
	constants := map[string]ast.Expr{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == 1 && len(spec.Values) == 1 {
			constants[spec.Names[0].Name] = spec.Values[0]
		}
		return true
	})
	return constants
}

// text is the value of a literal, or of a constant.
func text(e ast.Expr, constants map[string]ast.Expr) (string, bool) {
	if name, ok := e.(*ast.Ident); ok {
		e = constants[name.Name]
	}
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(literal.Value)
	return s, err == nil
}

func checkSentence(t *testing.T, where token.Position, message string) {
	t.Helper()
	if message != "run ended" && len(strings.Fields(message)) < 3 {
		t.Errorf("%v logs %q, which does not say what happened", where, message)
	}
}

func checkKeys(t *testing.T, where token.Position, args []ast.Expr) {
	t.Helper()
	for len(args) > 0 {
		if attr, ok := args[0].(*ast.CallExpr); ok {
			// leaseAttr has a key of its own; slog.Int and the like name theirs.
			if method(attr) != "" {
				checkKeys(t, where, attr.Args)
			}
			args = args[1:]
			continue
		}
		if s, named := args[0].(*ast.SelectorExpr); named && s.Sel.Name == "CorrelationAttribute" && len(args) > 1 {
			args = args[2:] // logs.CorrelationAttribute, which is the same everywhere
			continue
		}
		key, ok := text(args[0], nil)
		if !ok || !slices.Contains(logKeys, key) || len(args) < 2 {
			t.Errorf("%v logs the key %q, which is not among the package's", where, key)
			return
		}
		args = args[2:]
	}
}

func TestChoresHaveReadableNames(t *testing.T) {
	for name, c := range map[string]chore{
		"statistics:8":       {choreStatistics, 8, 0},
		"harvest:3":          {choreHarvest, 3, 0},
		"plan-harvest:3":     {choreRunEnded, 3, 0},
		"reconcile:3":        {choreReconcile, 3, 0},
		"request:3/17":       {choreRequest, 3, 17},
		"rebuild":            {choreRebuild, 0, 0},
		"plan-harvests":      {choreHarvests, 0, 0},
		"reconcile-all:5":    {choreReconcileAll, 5, 0},
		"reconcile-all:0/17": {choreReconcileAll, 0, 17},
		"of-tomorrow:1":      {"of-tomorrow", 1, 0},
	} {
		if c.id() != name {
			t.Errorf("%#v is called %q instead of %q", c, c.id(), name)
		}
		if back := choreFromID(c.id()); back != c {
			t.Errorf("%s comes back from dispatch as %s", name, back.id())
		}
		if _, isJob := dispatch.JobNumber(name); isJob {
			t.Errorf("%s is taken for a job", name)
		}
		if before, ok := choreOfEarlierVersion(name); ok {
			t.Errorf("%s is taken for %s of an earlier version", name, before.id())
		}
	}
}

func TestWhatIsNoChore(t *testing.T) {
	for _, id := range []string{"statistics:", "statistics:x", "statistics:8:9", "request:3/", "request:3/x", "harvest:08", "timer:tea", "-9", ""} {
		switch c := choreFromID(id); c.kind {
		case choreStatistics, choreRequest, choreHarvest:
			t.Errorf("%q is understood as %s", id, c.id())
		}
	}
}

// What earlier versions left in Redis: -(subject*16 + kind).
func TestChoresOfEarlierVersions(t *testing.T) {
	const account, number = 3, 17
	for before, want := range map[int64]string{
		8*16 + 1: "statistics:8", 3*16 + 2: "reconcile:3", 3: "rebuild", 3*16 + 4: "harvest:3", 5: "plan-harvests",
		3*16 + 6: "plan-harvest:3", (number<<31|account)*16 + 7: "request:3/17", 5*16 + 8: "reconcile-all",
		((number<<31)|(1<<31-1))*16 + 8: "reconcile-all",
	} {
		if c, ok := choreOfEarlierVersion(strconv.FormatInt(-before, 10)); !ok || c.id() != want {
			t.Errorf("%d is understood as %s, %v, want %s", -before, c.id(), ok, want)
		}
	}
	for _, id := range []string{"12", "job:12", "-9", "-15", "-16", "", "-", "-9223372036854775808"} {
		if c, ok := choreOfEarlierVersion(id); ok {
			t.Errorf("%q is understood as %s", id, c.id())
		}
	}
}

// mostMethods is how many methods a type may have: one with more has more than
// one job.
const mostMethods = 40

func TestTypesHaveOneJob(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]int{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || strings.HasSuffix(name, "_test.go") {
				continue
			}
			receiver := f.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if id, ok := receiver.(*ast.Ident); ok {
				methods[id.Name]++
			}
		}
	}
	if methods["pool"] == 0 {
		t.Error("the methods of a pool were not found")
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods", name, n)
		}
	}
}
