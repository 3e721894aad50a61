package wire

import "sluice/internal/access"

// TokenRequest asks for a token.
type TokenRequest struct {
	Name string `json:"name" minLength:"1" maxLength:"63" doc:"Letters, digits, dots, dashes and underscores; it stands in the audit log" example:"grafana"`
	Role string `json:"role" enum:"read,operate,admin" doc:"read looks, operate does the daily work as well, admin everything"`
	// ExpiresIn is a duration of Go.
	ExpiresIn string `json:"expires_in,omitempty" maxLength:"32" doc:"How long it lasts, such as 720h; for ever if absent" example:"720h"`
}

// NewToken is a token that was made. It is shown this once.
type NewToken struct {
	access.Token
	Secret string `json:"token" doc:"The token itself; it cannot be shown again"`
}

// TokenList is one page of tokens, by name.
type TokenList List[access.Token]

// AuditList is one page of the audit log, newest first.
type AuditList List[access.Entry]

// Caller is who makes a request.
type Caller struct {
	Actor string      `json:"actor" doc:"token:NAME, api-token (of the settings), local:USER or anonymous"`
	Role  access.Role `json:"role" enum:"read,operate,admin"`
}
