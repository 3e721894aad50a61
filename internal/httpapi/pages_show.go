package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// What the page about the API shows.
type (
	pageGroup struct {
		Name, About string
		Operations  []pageOperation
	}
	pageOperation struct {
		ID, Method, Path, Summary, About string
		// Open is set for what needs no token.
		Open             bool
		Parameters       []pageField
		Request, Example string
		Answers          []pageAnswer
	}
	pageField  struct{ Name, Type, Ref, About string }
	pageAnswer struct{ Status, About, Type, Ref string }
	pageSchema struct {
		Name   string
		Fields []pageField
	}
)

func showOperation(op *huma.Operation) pageOperation {
	out := pageOperation{
		ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, About: op.Description,
		Open: op.Security != nil && len(op.Security) == 0,
	}
	for _, p := range op.Parameters {
		about := p.Description
		if p.Required {
			about = strings.TrimSpace("Required. " + about)
		}
		kind, ref := typeOf(p.Schema)
		out.Parameters = append(out.Parameters, pageField{p.Name + " (" + p.In + ")", kind, ref, about})
	}
	if op.RequestBody != nil {
		for _, content := range op.RequestBody.Content {
			out.Request = indented(content.Example)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		response := op.Responses[status]
		answer := pageAnswer{Status: status, About: response.Description}
		for _, kind := range slices.Sorted(maps.Keys(response.Content)) {
			content := response.Content[kind]
			answer.Type, answer.Ref = kind, ""
			if content.Schema != nil && content.Schema.Ref != "" {
				answer.Type, answer.Ref = typeOf(content.Schema)
			}
			if out.Example == "" && status < "300" {
				out.Example = indented(content.Example)
			}
		}
		out.Answers = append(out.Answers, answer)
	}
	return out
}

// indented shows an example; texts are shown as they are.
func indented(example any) string {
	switch example := example.(type) {
	case nil:
		return ""
	case string:
		return example
	default:
		// It came from JSON, or goes there with the description.
		text, _ := json.MarshalIndent(example, "", "  ")
		return string(text)
	}
}

func showSchemas(schemas huma.Registry) []pageSchema {
	var out []pageSchema
	for _, name := range slices.Sorted(maps.Keys(schemas.Map())) {
		shown := pageSchema{Name: name}
		s := schemas.Map()[name]
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			of := s.Properties[field]
			about := of.Description
			if slices.Contains(s.Required, field) {
				about = strings.TrimSpace("Always there. " + about)
			}
			kind, ref := typeOf(of)
			shown.Fields = append(shown.Fields, pageField{field, kind, ref, about})
		}
		out = append(out, shown)
	}
	return out
}

// typeOf says what a schema is, and which other one it leads to.
func typeOf(s *huma.Schema) (kind, ref string) {
	switch {
	case s == nil:
		return "", ""
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return name, name
	case len(s.OneOf) > 0:
		return "events", ""
	case s.Type == huma.TypeArray:
		kind, ref = typeOf(s.Items)
		return "list of " + kind, ref
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			if v != nil {
				values = append(values, fmt.Sprint(v))
			}
		}
		return strings.Join(values, " | "), ""
	case s.Format != "":
		return s.Type + " (" + s.Format + ")", ""
	case s.Type == "":
		return "anything", ""
	}
	return s.Type, ""
}
