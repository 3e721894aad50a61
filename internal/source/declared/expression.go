package declared

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// An expression sees only what it is given: values of the file, the target and the
// records at hand. It cannot read a disk, an environment or another account, and it
// ends: there are no loops but those over members of a value, not one within the
// other, values are small (see small), and what it makes is bounded.
const (
	mostNodes  = 100
	mostMemory = 100_000
	// mostResult is how long a text may be that an expression makes.
	mostResult = 16 << 10
)

// refused are functions that make much of little, tell the time, or read zones.
var refused = []string{"map", "reduce", "groupBy", "sortBy", "repeat", "replace", "join", "concat", "flatten", "now", "date", "duration", "timezone", "toJSON", "mean", "median"}

// expression is compiled, and can be run any number of times at once.
type expression struct {
	text    string
	program *vm.Program
	// reads are the fields that it takes of each name: "" stands for all of it.
	reads map[string][]string
}

// names are what expressions at one place may speak of, with an example of each.
type names map[string]any

func (n names) with(more names) names {
	all := make(names, len(n)+len(more))
	for _, from := range []names{n, more} {
		for name, v := range from {
			all[name] = v
		}
	}
	return all
}

// compile compiles an expression; the error says what is wrong with it in a line.
func compile(text string, known names) (*expression, error) {
	env := make(map[string]any, len(known))
	for name, v := range known {
		env[name] = v
	}
	options := []expr.Option{expr.Env(env), expr.MaxNodes(mostNodes)}
	for _, name := range refused {
		options = append(options, expr.DisableBuiltin(name))
	}
	options = append(options, functions()...)
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, fmt.Errorf("the expression {%s} cannot be understood: %s", text, firstLine(err))
	}
	e := &expression{text: text, program: program, reads: map[string][]string{}}
	look := &looker{known: known, reads: e.reads, begins: map[*ast.IdentifierNode]bool{}}
	root := program.Node()
	ast.Walk(&root, look)
	look.second = true
	ast.Walk(&root, look)
	if look.wrong != "" {
		return nil, fmt.Errorf("the expression {%s} %s", text, look.wrong)
	}
	return e, nil
}

// mayHold says whether it may be true or false: what is counted, joined or written out is
// neither.
func (e *expression) mayHold() bool {
	root := e.program.Node()
	if b, is := root.(*ast.BinaryNode); is && slices.Contains([]string{"+", "-", "*", "/", "%", "**", "^"}, b.Operator) {
		return false
	}
	t := root.Type()
	return t == nil || t.Kind() == reflect.Bool || t.Kind() == reflect.Interface
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// looker finds what an expression reads, and what it must not do. It is walked
// twice: first it learns which names begin a path, then which stand alone.
type looker struct {
	known  names
	reads  map[string][]string
	begins map[*ast.IdentifierNode]bool
	second bool
	wrong  string
}

// Visit implements ast.Visitor.
func (l *looker) Visit(n *ast.Node) {
	switch v := (*n).(type) {
	case *ast.MemberNode:
		if !l.second {
			l.member(v)
		}
	case *ast.IdentifierNode:
		if _, known := l.known[v.Value]; l.second && known && !l.begins[v] {
			l.add(v.Value, "")
		}
	case *ast.BinaryNode:
		if v.Operator == ".." {
			l.wrong = "counts with ..; only members of values are gone through"
		}
	case *ast.VariableDeclaratorNode, *ast.SequenceNode:
		l.wrong = "declares a variable; write what it stands for instead"
	case *ast.BuiltinNode:
		// What goes through members cannot be disabled when it is compiled.
		if slices.Contains(refused, v.Name) {
			l.wrong = "has " + v.Name + ", which makes much of little"
		}
	case *ast.PredicateNode:
		inner := &finder{}
		ast.Walk(&v.Node, inner)
		if inner.met {
			l.wrong = "goes through members within members, which may take for ever"
		}
	}
}

func (l *looker) add(name, field string) {
	if !slices.Contains(l.reads[name], field) {
		l.reads[name] = append(l.reads[name], field)
	}
}

func (l *looker) member(v *ast.MemberNode) {
	id, isName := v.Node.(*ast.IdentifierNode)
	field, isText := v.Property.(*ast.StringNode)
	if !isName || !isText {
		return
	}
	known, isKnown := l.known[id.Value]
	if !isKnown {
		return
	}
	l.begins[id] = true
	l.add(id.Value, field.Value)
	if fixed, ok := known.(fixedNames); ok && !slices.Contains(fixed.names(), field.Value) {
		l.wrong = fmt.Sprintf("reads %s.%s, which is not declared; %s", id.Value, field.Value, meant(field.Value, fixed.names()))
	}
}

// finder finds whether something goes through members.
type finder struct{ met bool }

// Visit implements ast.Visitor.
func (f *finder) Visit(n *ast.Node) {
	if _, ok := (*n).(*ast.PredicateNode); ok {
		f.met = true
	}
}

// fixedNames are values whose members are all known.
type fixedNames map[string]any

func (f fixedNames) names() []string {
	var all []string
	for name := range f {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// run makes the expression's value. What it reads and is not there is an error that
// names the expression and shows no value.
func (e *expression) run(env map[string]any) (any, error) {
	machine := vm.VM{MemoryBudget: mostMemory}
	v, err := machine.Run(e.program, env)
	if err != nil {
		return nil, fmt.Errorf("the expression {%s} cannot be made: %s", e.text, firstLine(err))
	}
	return v, nil
}

// string is the value as a text.
func (e *expression) string(env map[string]any) (string, error) {
	v, err := e.run(env)
	if err != nil {
		return "", err
	}
	s, ok := plain(v)
	switch {
	case v == nil:
		return "", fmt.Errorf("the expression {%s} reads something that is not there", e.text)
	case !ok:
		return "", fmt.Errorf("the expression {%s} is a list or an object, not a text", e.text)
	case len(s) > mostResult:
		return "", fmt.Errorf("the expression {%s} makes more than %d characters", e.text, mostResult)
	}
	return s, nil
}

func (e *expression) bool(env map[string]any) (bool, error) {
	v, err := e.run(env)
	if err != nil {
		return false, err
	}
	yes, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("the expression {%s} is neither true nor false", e.text)
	}
	return yes, nil
}

// plain is a value without members, as a text.
func plain(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case fmt.Stringer:
		return v.String(), true
	}
	return "", false
}

// functions are those that the language lacks, or has without a bound.
func functions() []expr.Option {
	instant := func(v any) (time.Time, error) {
		s, _ := plain(v)
		t, ok := guess(s)
		if !ok {
			return t, fmt.Errorf("%q is not an instant", shorten(s, 40))
		}
		return t, nil
	}
	as := func(name string, form func(time.Time) any) expr.Option {
		return expr.Function(name, func(args ...any) (any, error) {
			t, err := instant(args[0])
			if err != nil {
				return nil, err
			}
			return form(t), nil
		}, new(func(any) any))
	}
	return []expr.Option{
		as("iso", func(t time.Time) any { return t.Format(time.RFC3339) }),
		as("epoch", func(t time.Time) any { return t.Unix() }),
		as("epoch_ms", func(t time.Time) any { return t.UnixMilli() }),
		as("day", func(t time.Time) any { return t.Format(time.DateOnly) }),
		expr.Function("join", func(args ...any) (any, error) { return join(args[0], args[1].(string)) }, new(func(any, string) string)),
		expr.Function("replace", func(args ...any) (any, error) {
			s, old, other := args[0].(string), args[1].(string), args[2].(string)
			if len(s) > mostResult || strings.Count(s, old)*len(other) > mostResult {
				return nil, fmt.Errorf("more than %d characters", mostResult)
			}
			return strings.ReplaceAll(s, old, other), nil
		}, new(func(string, string, string) string)),
	}
}

func join(list any, glue string) (string, error) {
	members, ok := list.([]any)
	if !ok {
		return "", fmt.Errorf("that is not a list")
	}
	var all strings.Builder
	for i, m := range members {
		s, ok := plain(m)
		if !ok || all.Len()+len(s)+len(glue) > mostResult {
			return "", fmt.Errorf("its members are not texts, or more than %d characters", mostResult)
		}
		if i > 0 {
			all.WriteString(glue)
		}
		all.WriteString(s)
	}
	return all.String(), nil
}
