package github

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// SchemaVariable names the environment variable with the path of GitHub's
// published schema (npm's @octokit/graphql-schema has it as schema.graphql). When
// it is set, the simulator refuses every query that GitHub would refuse.
const SchemaVariable = "SLUICE_GITHUB_SCHEMA"

// LoadSchema reads a schema in GraphQL's own language. GitHub's defines some
// fields twice; the first definition counts.
func LoadSchema(path string) (*ast.Schema, error) {
	text, err := os.ReadFile(path) //nolint:gosec // whoever runs the simulator names the file
	if err != nil {
		return nil, fmt.Errorf("read GitHub's schema: %w", err)
	}
	doc, err := parser.ParseSchemas(validator.Prelude, &ast.Source{Name: path, Input: string(text)})
	if err != nil {
		return nil, fmt.Errorf("read GitHub's schema: %w", err)
	}
	for _, def := range doc.Definitions {
		seen := map[string]bool{}
		def.Fields = slices.DeleteFunc(def.Fields, func(f *ast.FieldDefinition) bool {
			again := seen[f.Name]
			seen[f.Name] = true
			return again
		})
	}
	schema, err := validator.ValidateSchemaDocument(doc)
	if err != nil {
		return nil, fmt.Errorf("read GitHub's schema: %w", err)
	}
	return schema, nil
}

// schemaOfEnvironment is read once: it takes longer than most tests.
var schemaOfEnvironment = sync.OnceValues(func() (*ast.Schema, error) {
	path := os.Getenv(SchemaVariable)
	if path == "" {
		return nil, nil
	}
	return LoadSchema(path)
})

// parseAgainst parses a query and says what the schema has against it.
func parseAgainst(schema *ast.Schema, text string) (*ast.QueryDocument, error) {
	doc, errs := gqlparser.LoadQueryWithRules(schema, text, rules.NewDefaultRules())
	if len(errs) > 0 {
		return nil, errs
	}
	return doc, nil
}

var undefinedField = regexp.MustCompile(`^Cannot query field "(\w+)" on type "(\w+)"`)

// refusals words what is wrong with a query as GitHub does, where it is known.
func refusals(err error) []queryError {
	var list gqlerror.List
	if !errors.As(err, &list) {
		return []queryError{{message: err.Error()}}
	}
	var out []queryError
	for _, e := range list {
		refusal := queryError{message: e.Message}
		if found := undefinedField.FindStringSubmatch(e.Message); found != nil {
			refusal = noSuchField(found[2], found[1])
		}
		out = append(out, refusal)
	}
	return out
}
