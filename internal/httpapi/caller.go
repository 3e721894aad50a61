package httpapi

import (
	"context"

	"sluice/internal/access"
)

// callerKey is where it is known who makes a request.
type callerKey struct{}

// withCaller says who makes a request.
func withCaller(ctx context.Context, who access.Identity) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

// keyholderOf stands for who makes a request among those who send keys. A token
// that was made after another of its name was revoked is somebody else.
func keyholderOf(ctx context.Context) string {
	who, _ := ctx.Value(callerKey{}).(access.Identity)
	if who.Token == "" {
		return who.Actor
	}
	return who.Actor + " " + who.Token
}
