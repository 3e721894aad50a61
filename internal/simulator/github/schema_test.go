package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"sluice/internal/testkit"
)

// publishedSchema is GitHub's own: what the environment names, or what
// scripts/github-schema has fetched.
func publishedSchema(t *testing.T) *ast.Schema {
	t.Helper()
	path := os.Getenv(SchemaVariable)
	if path == "" {
		path = filepath.Join("..", "..", "..", ".tools", "github-schema.graphql")
		if _, err := os.Stat(path); err != nil {
			testkit.Lacks(t, "GitHub's GraphQL schema", "it is not in .tools; run scripts/github-schema")
		}
	}
	schema, err := LoadSchema(path)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// resolvedNames lists every name that a resolver knows, from its source.
func resolvedNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("graphql_*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range regexp.MustCompile(`(?m)^\s*case .*|.*name == .*`).FindAllString(string(text), -1) {
			for _, quoted := range regexp.MustCompile(`"([a-z]\w*)"`).FindAllStringSubmatch(line, -1) {
				names = append(names, quoted[1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Everything that the simulator resolves is in GitHub's schema: what works here
// works there.
func TestResolvedFieldsAreGitHubs(t *testing.T) {
	schema := publishedSchema(t)
	s := New(plain(8, 3, 3, 3)) // not every repository has a language
	// Whatever the environment says, the simulator itself is asked.
	s.queries = newQueryCache(nil)
	login, token, repo := first(t, s)
	within := map[string]string{
		"Query":           `{%s}`,
		"RateLimit":       `{rateLimit{%s}}`,
		"User":            `{user(login:"` + login + `"){%s}}`,
		"Repository":      `{viewer{repositories(first:1){nodes{%s}}}}`,
		"Ref":             `{viewer{repositories(first:1){nodes{defaultBranchRef{%s}}}}}`,
		"Commit":          `{viewer{repositories(first:1){nodes{defaultBranchRef{target{... on Commit{%s}}}}}}}`,
		"GitActor":        `{viewer{repositories(first:1){nodes{defaultBranchRef{target{... on Commit{author{%s}}}}}}}}`,
		"Issue":           `{viewer{repositories(first:1){nodes{issues(first:1){nodes{%s}}}}}}`,
		"PullRequest":     `{viewer{repositories(first:1){nodes{pullRequests(first:1){nodes{%s}}}}}}`,
		"Language":        `{viewer{repositories(first:100){nodes{languages(first:1){nodes{%s}}}}}}`,
		"PageInfo":        `{viewer{repositories(first:1){pageInfo{%s}}}}`,
		"IssueConnection": `{viewer{repositories(first:1){nodes{issues(first:1){%s}}}}}`,
	}
	for typ, frame := range within {
		known := 0
		for _, name := range resolvedNames(t) {
			// Without arguments and without a selection: only whether the field is
			// resolved is asked.
			body := fmt.Appendf(nil, `{"query":%q}`, fmt.Sprintf(frame, name))
			answer := string(send(s, http.MethodPost, token, "/graphql", body).body)
			if strings.Contains(answer, fmt.Sprintf("Field '%s' doesn't exist", name)) {
				continue
			}
			known++
			if schema.Types[typ].Fields.ForName(name) == nil {
				t.Errorf("the simulator has %s.%s, GitHub has not", typ, name)
			}
		}
		if known == 0 {
			t.Errorf("no field of %s was found; is %s right for %s?", typ, frame, repo.Name)
		}
	}
}

// What the simulator answers has the types that GitHub's schema promises.
func TestAnswersConformToGitHubsSchema(t *testing.T) {
	schema := publishedSchema(t)
	o := Options{Seed: seed(t), Accounts: 4, Schema: schema, Limits: Limits{Disabled: true}}
	s := New(o)
	login := s.Logins()[0]
	repo := s.Repos(login)[0]
	ids := []string{userNodeID(accountIDBase), repoNodeID(s.world.repo(0, 0).id)}
	for _, c := range []struct {
		text string
		vars map[string]any
	}{
		{discovery, map[string]any{"login": login}},
		{historyQuery, map[string]any{"o": repo.Owner, "n": repo.Name}},
		{fmt.Sprintf(nestedQuery, login), map[string]any{"first": 10}},
		{`query($ids:[ID!]!){nodes(ids:$ids){__typename id ... on Repository{databaseId nameWithOwner isFork isPrivate isEmpty isArchived isDisabled isLocked
			hasIssuesEnabled stargazerCount forkCount pushedAt updatedAt createdAt visibility primaryLanguage{name} owner{login} issues{totalCount} pullRequests{totalCount}
			defaultBranchRef{name target{oid ... on Commit{history{totalCount}}}}}}}`, map[string]any{"ids": ids}},
		{`{viewer{login repositories(first:20){nodes{issues(first:10,orderBy:{field:UPDATED_AT,direction:ASC}){nodes{id fullDatabaseId number title state createdAt updatedAt closedAt author{login}
			labels(first:3){nodes{name color}} comments{totalCount}}} pullRequests(first:10){nodes{id fullDatabaseId number state merged mergedAt additions deletions changedFiles mergedBy{login}
			commits{totalCount} baseRefName headRefName headRepository{nameWithOwner} author{login}}}}}}}`, nil},
	} {
		doc, err := parseAgainst(schema, c.text)
		if err != nil {
			t.Fatalf("%v: %s", err, c.text)
		}
		r := query(t, s, s.Token(login), c.text, c.vars)
		var data any
		if err := json.Unmarshal(r.body, &struct{ Data *any }{&data}); err != nil || len(r.Errors) > 0 {
			t.Fatalf("%v %s", err, r.body)
		}
		conform(t, schema, schema.Query, doc.Operations[0].SelectionSet, data, "data")
	}
	if r := query(t, s, s.Token(login), `{viewer{login(first:1)}}`, nil); len(r.Errors) == 0 {
		t.Fatal("a query that GitHub refuses was answered")
	}
}

// conform compares a value with what a selection of a type promises.
func conform(t *testing.T, schema *ast.Schema, typ *ast.Definition, set ast.SelectionSet, value any, at string) {
	t.Helper()
	object, ok := value.(map[string]any)
	if !ok {
		t.Errorf("%s is %v, not an object of %s", at, value, typ.Name)
		return
	}
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			conformValue(t, schema, s.Definition.Type, s.SelectionSet, object[s.Alias], at+"."+s.Alias)
		case *ast.InlineFragment:
			conformFragment(t, schema, s.TypeCondition, s.SelectionSet, object, at)
		case *ast.FragmentSpread:
			conformFragment(t, schema, s.Definition.TypeCondition, s.Definition.SelectionSet, object, at)
		}
	}
}

// conformFragment leaves out what does not apply: an object of another type has
// none of the fragment's own fields.
func conformFragment(t *testing.T, schema *ast.Schema, condition string, set ast.SelectionSet, object map[string]any, at string) {
	t.Helper()
	if name, told := object["__typename"]; told && name != condition {
		return
	}
	for _, s := range set {
		if f, ok := s.(*ast.Field); ok {
			if _, has := object[f.Alias]; has {
				conformValue(t, schema, f.Definition.Type, f.SelectionSet, object[f.Alias], at+"."+f.Alias)
			}
		}
	}
}

func conformValue(t *testing.T, schema *ast.Schema, typ *ast.Type, set ast.SelectionSet, value any, at string) {
	t.Helper()
	if value == nil {
		if typ.NonNull {
			t.Errorf("%s is null, the schema promises %s", at, typ)
		}
		return
	}
	if typ.Elem != nil {
		list, ok := value.([]any)
		if !ok {
			t.Errorf("%s is %v, not a list", at, value)
		}
		for i, element := range list {
			conformValue(t, schema, typ.Elem, set, element, fmt.Sprintf("%s[%d]", at, i))
		}
		return
	}
	def := schema.Types[typ.NamedType]
	switch def.Kind {
	case ast.Enum:
		if name, _ := value.(string); def.EnumValues.ForName(name) == nil {
			t.Errorf("%s is %v, not one of %s", at, value, def.Name)
		}
	case ast.Scalar:
		conformScalar(t, def.Name, value, at)
	default:
		conform(t, schema, def, set, value, at)
	}
}

func conformScalar(t *testing.T, scalar string, value any, at string) {
	t.Helper()
	var ok bool
	switch scalar {
	case "Int", "Float":
		_, ok = value.(float64)
	case "Boolean":
		_, ok = value.(bool)
	default: // dates, addresses, big numbers: all are strings
		_, ok = value.(string)
	}
	if !ok {
		t.Errorf("%s is %v, not a %s", at, value, scalar)
	}
}
