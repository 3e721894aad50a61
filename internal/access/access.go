// Package access says who may do what over the API, and keeps the log of who
// did what.
//
//   - access.go: roles, and who a caller is.
//   - token.go: tokens of the API, and the port that keeps them (TokenStore).
//   - rules.go: which token may be added, and which removed.
//   - tokens.go: Tokens makes, lists, revokes and recognises them; what it knows
//     of the store is a few seconds old at most.
//   - attempts.go: Attempts limits wrong tokens, by address and overall.
//   - proxies.go: whose word is taken for where a request comes from.
//   - entry.go: entries of the audit log, and the port that keeps them (AuditStore).
//   - trail.go: Trail is the entry of one request; stores write it in the
//     transaction of the request's first change.
//   - audit.go: Audit finishes entries, reads them and removes old ones.
package access

import (
	"context"
	"slices"

	"sluice/internal/domain"
)

// Role is what a caller may do; each includes the ones before it.
type Role string

// The roles.
const (
	// Read looks at everything but tokens and the audit log, and changes nothing.
	Read Role = "read"
	// Operate does the daily work as well: runs, jobs, timers, refreshes, pauses.
	Operate Role = "operate"
	// Admin does everything: accounts and their credentials, tokens, the audit log.
	Admin Role = "admin"
)

// Roles are all of them, the weakest first.
func Roles() []Role { return []Role{Read, Operate, Admin} }

// ParseRole reads a role.
func ParseRole(text string) (Role, error) {
	if role := Role(text); slices.Contains(Roles(), role) {
		return role, nil
	}
	return "", domain.Errorf(domain.CodeInvalid, "there is no role %q; choose read, operate or admin", text)
}

// Allows says whether who has this role may do what needs another. What is no
// role allows nothing, and is allowed to nobody.
func (r Role) Allows(needed Role) bool {
	have, need := slices.Index(Roles(), r), slices.Index(Roles(), needed)
	return need >= 0 && have >= need
}

// Identity is who a caller is.
type Identity struct {
	// Actor names the caller in the audit log: see the constants and functions
	// below. What stands before its colon cannot be chosen by a caller.
	Actor string
	Role  Role
	// Token tells one token from another of the same name; "" for who has none of
	// the store.
	Token string
	// Address is where the caller is, if it is not where a request comes from.
	Address string
}

const (
	// ActorSetting is whoever has the token of the settings.
	ActorSetting = "api-token"
	// ActorAnonymous is whoever reaches a service that asks for no token.
	ActorAnonymous = "anonymous"
)

// ActorToken is whoever has a token of the store.
func ActorToken(name string) string { return "token:" + name }

// ActorLocal is a user of the operating system who works on the data itself.
func ActorLocal(user string) string { return "local:" + user }

// ActorHook is the upstream of a source that sent a signed webhook.
func ActorHook(source string) string { return "hook:" + source }

type identityKey struct{}

// WithIdentity makes requests of a context those of somebody who is known without
// a token: a command that works on the data itself. No request that comes over a
// network has such a context.
func WithIdentity(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// IdentityOf returns who a context's requests are from, if that is known.
func IdentityOf(ctx context.Context) (Identity, bool) {
	who, ok := ctx.Value(identityKey{}).(Identity)
	return who, ok
}
