package httpapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/catalogue"
	"sluice/internal/httpapi/wire"
)

// bodies are examples of requests, where not every field may be given at once.
var bodies = map[string]any{
	"signup":           wire.SignupRequest{Source: "github", Login: "octocat", Token: "a-token-of-octocat"},
	"dry-run":          wire.DryRunRequest{Source: "github", Login: "octocat"},
	"set-account":      map[string]any{"floor": 500, "hours": "09:00-18:00 Asia/Seoul"},
	"pause-account":    wire.ReasonRequest{Reason: "its owner needs the ration today"},
	"cancel-run":       wire.ReasonRequest{Reason: "started by mistake"},
	"start-run":        wire.RunRequest{Source: "github", Login: "octocat", Priority: "HIGH"},
	"set-run-priority": wire.PriorityRequest{Priority: "LOW"},
	"set-schedule":     wire.Policy{Every: "6h", Quiet: "22:00-06:00", Zone: "Asia/Seoul"},
	"set-timer":        wire.TimerRequest{ID: "trial-ends:42", In: "36h", Payload: json.RawMessage(`{"customer":42}`)},
	"reschedule-timer": wire.InstantRequest{At: "2026-12-01T09:00:00+09:00"},
	"refresh":          wire.RefreshRequest{Source: "maplestory", Keys: []string{exampleKey}, Priority: "HIGH"},
	"redrive":          wire.LettersRequest{Why: "OPENAPI00004"},
	"discard":          wire.LettersRequest{IDs: []string{exampleLetter}},
	"verify-archive":   wire.ArchiveVerifyRequest{Source: "maplestory", Days: []string{exampleDay}},
	"restore-archive":  wire.ArchiveRestoreRequest{Source: "maplestory", From: exampleDay, To: exampleDay},
	"query-sql":        wire.SQLRequest{Query: "SELECT account, count(*) AS commits FROM commits GROUP BY account", Limit: 100},
	"save-query":       wire.QueryRequest{Query: "SELECT account, count(*) AS commits FROM commits GROUP BY account", About: "Commits of each account"},
	"add-source":       catalogue.Addition{File: exampleFile},
	"probe-source":     wire.SourceProbe{Target: "acme"},
	"check-source":     wire.SourceCheck{File: exampleFile},
	"github-hook":      `{"action":"opened","repository":{"owner":{"login":"octocat"}}}`,
}

// exampleFile describes a source.
const exampleFile = `source: shop
base: https://shop.example/v1
auth: bearer
ration: {all: {per: key, calls: 60, every: 1m, shape: sliding}}
streams:
  orders: {get: /orders, page: {type: page, param: page, total: total}, records: items, key: id}
`

const (
	exampleInstant = "2026-10-16T09:00:00Z"
	exampleDay     = "2026-10-16"
	exampleKey     = "item-equipment:4d1ac6dc3bfb0bb9d8ff3a0d4a2f4a2e"
	exampleLetter  = "0199e3b2-7c1f-7aa2-9d6e-5b1f0c2d3e4f"
)

// samples are what fields and parameters of a name look like.
var samples = map[string]any{
	"login": "octocat", "source": "github", "account": "octocat", "owner": "3f9a1c5d7e2b", "bucket": "core", "lane": "3f9a1c5d7e2b:core",
	"type": "REPO_COMMITS", "resource": "octocat/hello-world", "kind": "commits", "status": "RUNNING", "state": "active", "trigger": "manual",
	"priority": "HIGH", "reason": "resume it to go on", "key": exampleKey, "why": "OPENAPI00004", "day": exampleDay, "from": exampleDay, "to": exampleDay,
	"hours": "09:00-18:00 Asia/Seoul", "every": "6h", "cron": "0 3 * * *", "zone": "Asia/Seoul", "quiet": "22:00-06:00", "timer": "trial-ends:42",
	"code": "not_found", "title": "Not Found", "detail": "there is no account octocat at any source; POST /api/v1/accounts adds one",
	"limit": 100, "server": "sluice-1", "logins": []any{"octocat"}, "at": exampleInstant, "snapshot": map[string]any{"character_level": 250},
	"languages": []any{},
}

// pathSamples are what stands in paths, by how they begin.
var pathSamples = []struct {
	path  string
	value any
}{
	{"/api/v1/accounts/", "octocat"}, {"/api/v1/stats/", "octocat"}, {"/api/v1/quota/", "octocat"}, {"/api/v1/runs/", 12}, {"/api/v1/jobs/", 345},
	{"/api/v1/timers/", "trial-ends:42"}, {"/api/v1/queries/", "commits-by-account"}, {"/api/v1/sources/", "shop"}, {"/api/v1/dlq/", exampleLetter},
}

// giveExamples gives an operation examples of what it is sent and what it
// answers: its own, or what its schema and the names of fields make up.
func giveExamples(doc *huma.OpenAPI, op *huma.Operation) {
	e := exampler{doc.Components.Schemas}
	for _, p := range op.Parameters {
		if p.Example == nil && p.Required {
			p.Example = e.parameter(op, p)
		}
	}
	if op.RequestBody != nil {
		for _, content := range op.RequestBody.Content {
			given, ok := bodies[op.OperationID]
			if !ok {
				given = e.value("", content.Schema, false, 0)
			}
			content.Example = plain(given)
		}
	}
	for _, response := range op.Responses {
		for kind, content := range response.Content {
			switch {
			case content.Example != nil || kind == problemType:
			case content.Schema != nil && content.Schema.Format != "binary":
				content.Example = e.value("", content.Schema, true, 0)
			}
		}
	}
}

// plain is a value as JSON has it.
func plain(v any) any {
	// What stands above can be encoded.
	text, _ := json.Marshal(v)
	var out any
	_ = json.Unmarshal(text, &out)
	return out
}

// exampler makes examples up.
type exampler struct{ schemas huma.Registry }

// exampleDepth bounds schemas that hold themselves.
const exampleDepth = 6

func (e exampler) parameter(op *huma.Operation, p *huma.Param) any {
	if p.In == "path" {
		for _, sample := range pathSamples {
			if strings.HasPrefix(op.Path, sample.path) {
				return sample.value
			}
		}
		if p.Name == "source" {
			return "maplestory"
		}
	}
	return e.value(p.Name, p.Schema, false, 0)
}

// value is an example of a schema, for a field of a name.
func (e exampler) value(name string, s *huma.Schema, answer bool, depth int) any {
	if s.Ref != "" {
		s = e.schemas.SchemaFromRef(s.Ref)
	}
	sample, known := samples[name]
	switch {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		if known && slices.Contains(s.Enum, sample) {
			return sample
		}
		return s.Enum[0]
	case s.Format == "date-time":
		return exampleInstant
	case known && fits(s, sample):
		return sample
	}
	switch s.Type {
	case huma.TypeObject:
		return e.object(s, answer, depth)
	case huma.TypeArray:
		if depth >= exampleDepth {
			return []any{}
		}
		item := e.value(strings.TrimSuffix(name, "s"), s.Items, answer, depth+1)
		if s.MinItems != nil {
			return slices.Repeat([]any{item}, max(1, *s.MinItems))
		}
		return []any{item}
	case huma.TypeString:
		return "text"
	case huma.TypeInteger, huma.TypeNumber:
		if s.Minimum != nil && *s.Minimum > 1 {
			return *s.Minimum
		}
		return 1
	case huma.TypeBoolean:
		return true
	}
	return map[string]any{}
}

// object has every field but those that tell of failures, where there need be
// none, and what goes in and never comes out.
func (e exampler) object(s *huma.Schema, answer bool, depth int) map[string]any {
	out := map[string]any{}
	if depth >= exampleDepth {
		return out
	}
	for field, schema := range s.Properties {
		failure := strings.HasPrefix(field, "error") && !slices.Contains(s.Required, field)
		if failure || answer && schema.WriteOnly {
			continue
		}
		out[field] = e.value(field, schema, answer, depth+1)
	}
	if more, ok := s.AdditionalProperties.(*huma.Schema); ok && len(s.Properties) == 0 {
		out["sluice-1"] = e.value("", more, answer, depth+1)
	}
	return out
}

// fits reports whether a sample is of a schema's type.
func fits(s *huma.Schema, sample any) bool {
	switch sample.(type) {
	case string:
		return s.Type == huma.TypeString
	case int:
		return s.Type == huma.TypeInteger || s.Type == huma.TypeNumber
	case []any:
		return s.Type == huma.TypeArray
	}
	return s.Type == ""
}
