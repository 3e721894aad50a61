package relational

import (
	"context"

	"sluice/internal/document"
	"sluice/internal/state"
)

// finishItem is one Finish on its way to the server.
type finishItem struct {
	*state.Attempt
	// documents are the outcome's; nil if there are none.
	documents *PackedDocuments
}

// Finish implements state.Jobs.
func (s *State) Finish(ctx context.Context, o state.Outcome) (state.Effect, error) {
	var pack func(context.Context, []document.Document) (*PackedDocuments, error)
	if s.docs != nil {
		pack = s.docs.Pack
	}
	return state.Offer(ctx, o, pack, func(a *state.Attempt, documents *PackedDocuments) error {
		return s.do(ctx, &call{finish: &finishItem{a, documents}})
	})
}

// admit sorts out outcomes that may not be applied.
func (g *group) admit(item *finishItem, held *state.Held) {
	if g.Admit(item.Attempt, held) {
		g.items = append(g.items, item)
	}
}
