package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

func (s *server) registerDeadLetters(api huma.API) {
	const tag = "dlq"
	register(s, api, operation{id: "list-dead-letters", method: http.MethodGet, path: "/api/v1/dlq", tag: tag,
		summary: "List what failed for good, newest first, with counts by cause", errors: []int{http.StatusUnprocessableEntity}}, s.listDeadLetters)
	register(s, api, operation{id: "get-dead-letter", method: http.MethodGet, path: "/api/v1/dlq/{id}", tag: tag,
		summary: "Show a dead letter", errors: []int{http.StatusNotFound}}, s.getDeadLetter)
	register(s, api, operation{id: "redrive", method: http.MethodPost, path: "/api/v1/dlq/redrive", tag: tag,
		summary: "Ask once more for what dead letters asked for", errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity}}, s.redrive)
	register(s, api, operation{id: "discard", method: http.MethodPost, path: "/api/v1/dlq/discard", tag: tag,
		summary: "Forget dead letters", errors: []int{http.StatusUnprocessableEntity}}, s.discard)
}

type listDeadLettersInput struct {
	Why      string    `query:"why" maxLength:"100" doc:"Only with this cause, such as OPENAPI00004"`
	Source   string    `query:"source" maxLength:"50"`
	Key      string    `query:"key" maxLength:"300"`
	Before   time.Time `query:"before" doc:"Only those buried before this instant"`
	BeforeID string    `query:"before_id" maxLength:"100"`
	Limit    int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *server) listDeadLetters(ctx context.Context, in *listDeadLettersInput) (*body[wire.DeadLetterList], error) {
	letters, err := s.Refreshes.DeadLetterList(ctx, refresh.DeadLetterQuery{
		Why: in.Why, Source: in.Source, Key: in.Key, Before: in.Before, BeforeID: in.BeforeID, Limit: in.Limit,
	})
	if err != nil {
		return nil, err
	}
	counts, err := s.Refreshes.DeadLetterCounts(ctx)
	return &body[wire.DeadLetterList]{wire.DeadLetterList{Letters: notNull(letters), Counts: counts}}, err
}

func (s *server) getDeadLetter(ctx context.Context, in *named) (*body[refresh.DeadLetter], error) {
	letter, err := s.Refreshes.DeadLetter(ctx, in.ID)
	return &body[refresh.DeadLetter]{letter}, err
}

func (s *server) redrive(ctx context.Context, in *body[wire.LettersRequest]) (*body[wire.LettersAnswer], error) {
	var n int
	var err error
	switch {
	case (len(in.Body.IDs) == 0) == (in.Body.Why == ""):
		return nil, domain.Errorf(domain.CodeInvalid, "name dead letters by ids, or all of one cause by why")
	case in.Body.Why != "":
		n, err = s.Refreshes.RedriveWhy(ctx, in.Body.Why)
	default:
		n, err = s.Refreshes.Redrive(ctx, in.Body.IDs...)
	}
	return &body[wire.LettersAnswer]{wire.LettersAnswer{Letters: n}}, err
}

func (s *server) discard(ctx context.Context, in *body[wire.LettersRequest]) (*body[wire.LettersAnswer], error) {
	if len(in.Body.IDs) == 0 || in.Body.Why != "" {
		return nil, domain.Errorf(domain.CodeInvalid, "name the dead letters to discard by ids")
	}
	n, err := s.Refreshes.Discard(ctx, in.Body.IDs...)
	return &body[wire.LettersAnswer]{wire.LettersAnswer{Letters: n}}, err
}
