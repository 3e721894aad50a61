package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"sluice/internal/access"
	"sluice/internal/httpapi/wire"
)

// CreateToken makes a token of the API. The answer alone has it.
func (c operatorCalls) CreateToken(ctx context.Context, request wire.TokenRequest) (wire.NewToken, error) {
	var out wire.NewToken
	err := c.call(ctx, http.MethodPost, api+"/tokens", nil, request, &out)
	return out, err
}

// Tokens lists a page of the tokens of the API.
func (c operatorCalls) Tokens(ctx context.Context, p Page) (wire.TokenList, error) {
	var out wire.TokenList
	err := c.call(ctx, http.MethodGet, api+"/tokens", p.values(), nil, &out)
	return out, err
}

// RevokeToken ends a token.
func (c operatorCalls) RevokeToken(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, api+"/tokens/"+url.PathEscape(name), nil, nil, nil)
}

// Audit lists a page of the audit log, newest first.
func (c operatorCalls) Audit(ctx context.Context, s access.Search) (wire.AuditList, error) {
	query := Page{s.Cursor, s.Limit}.values()
	for name, value := range map[string]string{"since": timeText(s.Since), "until": timeText(s.Until), "actor": s.Actor, "action": s.Action} {
		add(query, name, value)
	}
	var out wire.AuditList
	err := c.call(ctx, http.MethodGet, api+"/audit", query, nil, &out)
	return out, err
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

// Whoami tells who the service takes the caller for.
func (c operatorCalls) Whoami(ctx context.Context) (wire.Caller, error) {
	var out wire.Caller
	err := c.call(ctx, http.MethodGet, api+"/whoami", nil, nil, &out)
	return out, err
}
