package httpapi

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/export"
)

// firstSource is where an account is looked up whose source is not named.
func (s *common) firstSource() string {
	if len(s.Sources) == 0 {
		return ""
	}
	return s.Sources[0].Name
}

// describeSources puts into the description of parameters what sources decide:
// where a login is looked up by default. No tag of a parameter can know that.
func (s *common) describeSources(doc *huma.OpenAPI) {
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Put, path.Patch, path.Delete} {
			if op == nil {
				continue
			}
			for _, p := range op.Parameters {
				if p.In == "query" && p.Name == "source" && strings.HasSuffix(p.Description, "looked up") {
					p.Schema.Default = s.firstSource()
				}
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
