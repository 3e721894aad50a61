//go:build narrowed

// Package sqlite: a file more for the package of this name in FerretDB, which the
// test kit builds with it (writeFerretDB).
package sqlite

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/FerretDB/FerretDB/internal/backends/sqlite/metadata"
	"github.com/FerretDB/FerretDB/internal/handler/sjson"
	"github.com/FerretDB/FerretDB/internal/types"
)

// mostArgs is fewer than SQLite takes with a statement.
const mostArgs = 10_000

// narrow makes a condition of SQL that every document fulfils which the filter
// matches. FerretDB compares what is read with the filter in any case, so that the
// condition may be too wide, never too narrow: what is not understood is left out.
// By itself FerretDB asks SQLite for one document by its id, or for all of them,
// each of which it decodes.
func narrow(filter *types.Document) (where string, args []any) {
	condition, args := narrowed(filter)
	if condition == "" {
		return "", nil
	}
	return " WHERE " + condition, args
}

func narrowed(filter *types.Document) (condition string, args []any) {
	var all []string
	values := filter.Values()
	for i, key := range filter.Keys() {
		one, with := narrowBy(key, values[i])
		if one != "" {
			all, args = append(all, one), append(args, with...)
		}
	}
	return strings.Join(all, " AND "), args
}

func narrowBy(key string, value any) (condition string, args []any) {
	switch {
	case key == "_id":
		return narrowByID(value)
	case key == "$or":
		return narrowByAny(value)
	case key == "" || strings.HasPrefix(key, "$") || strings.ContainsAny(key, `"'\`):
		return "", nil
	}
	f := fieldOf(strings.Split(key, "."))
	operators, ok := value.(*types.Document)
	if !ok {
		return f.in([]any{value})
	}
	var all []string
	operands := operators.Values()
	for i, operator := range operators.Keys() {
		one, with := f.fulfils(operator, operands[i])
		if one != "" {
			all, args = append(all, one), append(args, with...)
		}
	}
	return strings.Join(all, " AND "), args
}

// narrowByAny is for {$or: […]}, of which all must be understood.
func narrowByAny(value any) (condition string, args []any) {
	list, ok := value.(*types.Array)
	if !ok || list.Len() == 0 {
		return "", nil
	}
	var all []string
	for _, one := range valuesOf(list) {
		filter, ok := one.(*types.Document)
		if !ok {
			return "", nil
		}
		condition, with := narrowed(filter)
		if condition == "" {
			return "", nil
		}
		all, args = append(all, "("+condition+")"), append(args, with...)
	}
	return "(" + strings.Join(all, " OR ") + ")", args
}

// narrowByID finds documents by the index that they have for their ids, which are
// never arrays.
func narrowByID(value any) (condition string, args []any) {
	ids := []any{value}
	if operators, ok := value.(*types.Document); ok {
		if ids, ok = listOf(operators); !ok {
			return "", nil
		}
	}
	if len(ids) > mostArgs {
		return "", nil
	}
	for _, id := range ids {
		switch id.(type) {
		case string, types.ObjectID:
		default:
			return "", nil
		}
		text, err := sjson.MarshalSingleValue(id)
		if err != nil {
			return "", nil
		}
		args = append(args, string(text))
	}
	return metadata.IDColumn + " IN (" + marks(len(ids)) + ")", args
}

// listOf are the values of {$in: […]}.
func listOf(operators *types.Document) (values []any, ok bool) {
	if operators.Len() != 1 || operators.Keys()[0] != "$in" {
		return nil, false
	}
	list, ok := operators.Values()[0].(*types.Array)
	if !ok {
		return nil, false
	}
	return valuesOf(list), true
}

func valuesOf(list *types.Array) (values []any) {
	for i := range list.Len() {
		// There is one at each of these places.
		value, _ := list.Get(i)
		values = append(values, value)
	}
	return values
}

// field is a field of documents, by expressions of SQL.
type field struct {
	value, kind string
	// within says that a part of the path to it is an array, and array that it is
	// one or that: whatever one of its elements matches is matched.
	within, array string
}

func fieldOf(path []string) (f field) {
	f.within = "FALSE"
	at := "$"
	for i, name := range path {
		at += fmt.Sprintf(`."%s"`, name)
		f.kind = fmt.Sprintf(`json_type(%s,'%s')`, metadata.DefaultColumn, at)
		f.array = fmt.Sprintf(`%s OR %s = 'array'`, f.within, f.kind)
		if i < len(path)-1 {
			f.within = f.array
		}
	}
	f.value = fmt.Sprintf(`%s->>'%s'`, metadata.DefaultColumn, at)
	return f
}

func (f field) fulfils(operator string, operand any) (condition string, args []any) {
	switch operator {
	case "$eq":
		return f.in([]any{operand})
	case "$in":
		if list, ok := operand.(*types.Array); ok {
			return f.in(valuesOf(list))
		}
	case "$exists":
		if there, ok := operand.(bool); ok {
			return fmt.Sprintf("(%s IS %s OR %s)", f.kind, map[bool]string{true: "NOT NULL", false: "NULL"}[there], f.within), nil
		}
	case "$gt", "$gte", "$lt", "$lte":
		sign := map[string]string{"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}[operator]
		if arg, ok := plain(operand); ok {
			return fmt.Sprintf("(%s %s ? OR %s)", f.value, sign, f.array), []any{arg}
		}
	}
	return "", nil
}

func (f field) in(values []any) (condition string, args []any) {
	if len(values) > mostArgs {
		return "", nil
	}
	for _, v := range values {
		arg, ok := plain(v)
		if !ok {
			return "", nil
		}
		args = append(args, arg)
	}
	return fmt.Sprintf("(%s IN (%s) OR %s)", f.value, marks(len(values)), f.array), args
}

// plain is a value that SQLite compares as MongoDB does.
func plain(value any) (arg any, ok bool) {
	switch v := value.(type) {
	case string:
		return v, utf8.ValidString(v) && !strings.ContainsRune(v, 0)
	case int32, int64, bool:
		return v, true
	default:
		return nil, false
	}
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }
