package github

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// execution runs one query over the world, writing the answer as it goes.
type execution struct {
	call  *call
	world *world
	out   *buffer
	doc   *ast.QueryDocument
	vars  map[string]any

	requests, nodes int
	path            []any
	errors          []queryError
	invalid         bool // the query asks for what the schema does not have
	overburdened    *Heavy
}

func (ex *execution) report(e queryError) { ex.errors = append(ex.errors, e) }

// bindVariables fills in defaults and refuses a query whose required variables
// are missing.
func (ex *execution) bindVariables(op *ast.OperationDefinition) bool {
	if ex.vars == nil {
		ex.vars = map[string]any{}
	}
	for _, def := range op.VariableDefinitions {
		if value, ok := ex.vars[def.Variable]; ok && value != nil {
			continue
		}
		if def.DefaultValue != nil {
			if value, err := def.DefaultValue.Value(nil); err == nil {
				ex.vars[def.Variable] = value
			}
			continue
		}
		if def.Type.NonNull {
			ex.report(queryError{
				position: def.Position,
				message:  fmt.Sprintf("Variable $%s of type %s was provided invalid value", def.Variable, def.Type.String()),
			})
		}
	}
	return len(ex.errors) == 0
}

// run writes data and errors. A field the schema lacks voids the data, as
// validation would have.
func (ex *execution) run(op *ast.OperationDefinition) {
	ex.out.b = append(ex.out.b[:0], `{"data":`...)
	root := &selection{sets: []ast.SelectionSet{op.SelectionSet}}
	ex.object(root, "Query", ex.queryField)
	if ex.invalid {
		ex.errors = slices.DeleteFunc(ex.errors, func(e queryError) bool { return e.extensions == "" })
		ex.call.graphQLFailure(ex.errors...)
		return
	}
	if ex.overburdened != nil {
		ex.call.failHeavy(*ex.overburdened)
		return
	}
	if len(ex.errors) > 0 {
		ex.out.key("errors")
		writeErrors(ex.out, ex.errors)
	}
	ex.out.close('}')
}

// selection is a set of fields asked of one position, merged over fragments and
// repeated fields, and worked out once per type.
type selection struct {
	sets   []ast.SelectionSet
	byType map[string][]*chosen
}

// chosen is one field of the answer.
type chosen struct {
	key   string
	field *ast.Field
	sub   *selection
}

func (ex *execution) choose(sel *selection, typ string) []*chosen {
	if fields, ok := sel.byType[typ]; ok {
		return fields
	}
	var fields []*chosen
	for _, set := range sel.sets {
		fields = ex.collect(fields, set, typ, 0)
	}
	if sel.byType == nil {
		sel.byType = map[string][]*chosen{}
	}
	sel.byType[typ] = fields
	return fields
}

func (ex *execution) collect(fields []*chosen, set ast.SelectionSet, typ string, depth int) []*chosen {
	if depth > maxQueryDepth {
		return fields
	}
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			if ex.included(s.Directives) {
				fields = merge(fields, s)
			}
		case *ast.InlineFragment:
			if ex.included(s.Directives) && implements(typ, s.TypeCondition) {
				fields = ex.collect(fields, s.SelectionSet, typ, depth+1)
			}
		case *ast.FragmentSpread:
			fragment := ex.doc.Fragments.ForName(s.Name)
			if fragment != nil && ex.included(s.Directives) && implements(typ, fragment.TypeCondition) {
				fields = ex.collect(fields, fragment.SelectionSet, typ, depth+1)
			}
		}
	}
	return fields
}

func merge(fields []*chosen, f *ast.Field) []*chosen {
	key := f.Alias
	if key == "" {
		key = f.Name
	}
	for _, existing := range fields {
		if existing.key == key {
			existing.sub.sets = append(existing.sub.sets, f.SelectionSet)
			return fields
		}
	}
	return append(fields, &chosen{key: key, field: f, sub: &selection{sets: []ast.SelectionSet{f.SelectionSet}}})
}

// included honours @skip and @include.
func (ex *execution) included(directives ast.DirectiveList) bool {
	for _, d := range directives {
		if d.Name != "skip" && d.Name != "include" {
			continue
		}
		arg := d.Arguments.ForName("if")
		if arg == nil {
			continue
		}
		value, err := arg.Value.Value(ex.vars)
		if on, ok := value.(bool); err == nil && ok && on == (d.Name == "skip") {
			return false
		}
	}
	return true
}

// implements tells whether a fragment on condition applies to a type.
func implements(typ, condition string) bool {
	switch condition {
	case "", typ, "Node":
		return true
	case "Actor", "RepositoryOwner", "ProfileOwner":
		return typ == "User" || typ == "Organization"
	case "GitObject":
		return typ == "Commit"
	case "IssueOrPullRequest", "Comment", "Labelable", "Closable", "Assignable":
		return typ == "Issue" || typ == "PullRequest"
	default:
		return false
	}
}

// object writes an object by asking resolve for each chosen field; resolve
// writes the value, or returns false when the type has no such field.
func (ex *execution) object(sel *selection, typ string, resolve func(*chosen) bool) {
	ex.out.open('{')
	for _, f := range ex.choose(sel, typ) {
		ex.out.key(f.key)
		if f.field.Name == "__typename" {
			ex.out.join(typ)
			continue
		}
		ex.path = append(ex.path, f.key)
		if slices.Contains(ex.call.server.options.Lacking, typ+"."+f.field.Name) || !resolve(f) {
			ex.undefinedField(typ, f.field)
			ex.out.null()
		}
		ex.path = ex.path[:len(ex.path)-1]
	}
	ex.out.close('}')
}

func (ex *execution) undefinedField(typ string, f *ast.Field) {
	ex.invalid = true
	refusal := noSuchField(typ, f.Name)
	refusal.path, refusal.position = slices.Clone(ex.path), f.Position
	ex.report(refusal)
}

// noSuchField says that a type lacks a field.
func noSuchField(typ, name string) queryError {
	return queryError{
		message:    fmt.Sprintf("Field '%s' doesn't exist on type '%s'", name, typ),
		extensions: fmt.Sprintf(`{"code":"undefinedField","typeName":%q,"fieldName":%q}`, typ, name),
	}
}

// missing writes null and reports what could not be found at this path.
func (ex *execution) missing(f *chosen, format string, args ...any) {
	ex.refuse(f, "NOT_FOUND", fmt.Sprintf(format, args...))
}

func (ex *execution) refuse(f *chosen, kind, message string) {
	ex.report(queryError{kind: kind, path: slices.Clone(ex.path), position: f.field.Position, message: message})
	ex.out.null()
}

func (ex *execution) argument(f *ast.Field, name string) any {
	arg := f.Arguments.ForName(name)
	if arg == nil {
		return nil
	}
	value, err := arg.Value.Value(ex.vars)
	if err != nil {
		return nil
	}
	return value
}

func (ex *execution) stringArg(f *chosen, name string) string {
	s, _ := ex.argument(f.field, name).(string)
	return s
}

func (ex *execution) intArg(f *chosen, name string) int {
	n, _ := asInt(ex.argument(f.field, name))
	return n
}

func (ex *execution) objectArg(f *chosen, name string) map[string]any {
	o, _ := ex.argument(f.field, name).(map[string]any)
	return o
}

// stringsArg reads a list, or the single value GraphQL lets stand for one.
func (ex *execution) stringsArg(f *chosen, name string) []string {
	switch v := ex.argument(f.field, name).(type) {
	case string:
		return []string{v}
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

func asInt(value any) (int, bool) {
	switch n := value.(type) {
	case int64:
		return int(n), true
	case float64:
		return int(n), true
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil
	}
	return 0, false
}
