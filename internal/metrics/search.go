package metrics

import (
	"context"

	"sluice/internal/document/wordindex"
)

// Search says how far the index of words is behind; *wordindex.Searcher does.
type Search interface {
	Behind(ctx context.Context) (wordindex.Behind, error)
}

func exportSearch(e exporter, b wordindex.Behind) {
	building := 0.0
	if b.Building {
		building = 1
	}
	e.gauge("sluice_search_behind", float64(b.Changes))
	e.gauge("sluice_search_building", building)
}
