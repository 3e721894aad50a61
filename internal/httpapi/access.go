package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// accessRoutes serve tokens and the audit log.
type accessRoutes struct {
	*common
	Tokens Tokens
	// Audit may be nil.
	Audit AuditLog
}

func (s *accessRoutes) registerAccess(api huma.API) {
	const tag = "access"
	register(s, api, operation{id: "create-token", method: http.MethodPost, path: "/api/v1/tokens", tag: tag,
		summary: "Make a token of the API; it is shown this once", status: http.StatusCreated,
		errors: []int{http.StatusConflict, http.StatusUnprocessableEntity}}, s.createToken)
	register(s, api, operation{id: "list-tokens", method: http.MethodGet, path: "/api/v1/tokens", tag: tag,
		summary: "List the tokens of the API by name, without themselves", errors: []int{http.StatusUnprocessableEntity}}, s.listTokens)
	register(s, api, operation{id: "revoke-token", method: http.MethodDelete, path: "/api/v1/tokens/{name}", tag: tag,
		summary: "Revoke a token: it ends here at once, and within seconds everywhere", status: http.StatusNoContent,
		errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}}, s.revokeToken)
	register(s, api, operation{id: "whoami", method: http.MethodGet, path: "/api/v1/whoami", tag: tag,
		summary: "Tell who the caller is, and what role that has"}, s.whoami)
	register(s, api, operation{id: "list-audit", method: http.MethodGet, path: "/api/v1/audit", tag: tag,
		summary: "List who changed what, newest first", errors: []int{http.StatusUnprocessableEntity}}, s.listAudit)
}

func (s *accessRoutes) createToken(ctx context.Context, in *body[wire.TokenRequest]) (*body[wire.NewToken], error) {
	var lasts time.Duration
	if in.Body.ExpiresIn != "" {
		var err error
		if lasts, err = time.ParseDuration(in.Body.ExpiresIn); err != nil || lasts <= 0 {
			return nil, domain.Errorf(domain.CodeInvalid, "expires_in is not how long a token lasts: write hours, minutes and seconds, such as 720h")
		}
	}
	access.About(ctx, in.Body.Name+" ("+in.Body.Role+")")
	token, secret, err := s.Tokens.Create(ctx, in.Body.Name, access.Role(in.Body.Role), lasts)
	return &body[wire.NewToken]{wire.NewToken{Token: token, Secret: secret}}, err
}

type listTokensInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Cursor string `query:"cursor" maxLength:"63" doc:"Where the page before ended: its next_cursor"`
}

func (s *accessRoutes) listTokens(ctx context.Context, in *listTokensInput) (*body[wire.TokenList], error) {
	tokens, err := s.Tokens.List(ctx)
	if err := errors.Join(err, checkNameCursor(in.Cursor)); err != nil {
		return nil, err
	}
	// The one that the cursor names may have been revoked since.
	from := 0
	for from < len(tokens) && tokens[from].Name <= in.Cursor {
		from++
	}
	list := pageOf(tokens[from:], in.Limit, func(t *access.Token) string { return t.Name })
	return &body[wire.TokenList]{wire.TokenList(list)}, nil
}

func (s *accessRoutes) whoami(ctx context.Context, _ *struct{}) (*body[wire.Caller], error) {
	who, _ := ctx.Value(callerKey{}).(access.Identity)
	return &body[wire.Caller]{wire.Caller{Actor: who.Actor, Role: who.Role}}, nil
}

type tokenRef struct {
	Name string `path:"name" maxLength:"63"`
}

func (s *accessRoutes) revokeToken(ctx context.Context, in *tokenRef) (*struct{}, error) {
	return nil, s.Tokens.Revoke(ctx, in.Name)
}

type listAuditInput struct {
	Since  time.Time `query:"since" doc:"Only what began then or later"`
	Until  time.Time `query:"until" doc:"Only what began before"`
	Actor  string    `query:"actor" maxLength:"100" doc:"Only of this actor, such as token:grafana"`
	Action string    `query:"action" maxLength:"64" doc:"Only this operation, such as cancel-run"`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Cursor string    `query:"cursor" maxLength:"32" doc:"Where the page before ended: its next_cursor"`
}

func (s *accessRoutes) listAudit(ctx context.Context, in *listAuditInput) (*body[wire.AuditList], error) {
	if s.Audit == nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "this service keeps no audit log")
	}
	entries, next, err := s.Audit.Entries(ctx, access.Search{
		Since: in.Since, Until: in.Until, Actor: in.Actor, Action: in.Action, Cursor: in.Cursor, Limit: in.Limit,
	})
	return &body[wire.AuditList]{wire.AuditList{Items: notNull(entries), NextCursor: next}}, err
}
