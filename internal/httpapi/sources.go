package httpapi

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/export"
)

// sourceNames are the sources at which a login is looked up that comes without one.
func (s *common) sourceNames() (names []string) {
	for i := range s.Sources {
		names = append(names, s.Sources[i].Name)
	}
	return names
}

// describeAmbiguity adds to what takes logins that one may be an account's of several
// sources.
func describeAmbiguity(doc *huma.OpenAPI) {
	for op := range operations(doc) {
		for _, p := range op.Parameters {
			if p.In == "query" && p.Name == "source" && strings.HasPrefix(p.Description, "Where a login") && op.Responses["409"] == nil {
				op.Responses["409"] = &huma.Response{Description: http.StatusText(http.StatusConflict), Content: op.Responses["503"].Content}
			}
		}
	}
}

// describeKinds says which kinds can be exported; others are refused as if that
// stood in the parameter's tag.
func (s *common) describeKinds(op *huma.Operation) {
	for _, p := range op.Parameters {
		if p.Name != "kind" {
			continue
		}
		p.Schema.Enum = nil
		for _, kind := range export.Kinds(s.kinds) {
			p.Schema.Enum = append(p.Schema.Enum, kind)
		}
		p.Schema.PrecomputeMessages()
	}
}
