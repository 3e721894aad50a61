package logs

import "context"

type quietKey struct{}

// Quietly is a context of requests that come again and again and tell nobody
// anything: those of a page that is open somewhere.
func Quietly(ctx context.Context) context.Context {
	return context.WithValue(ctx, quietKey{}, true)
}

// IsQuiet reports whether a context is of such a request.
func IsQuiet(ctx context.Context) bool {
	quiet, _ := ctx.Value(quietKey{}).(bool)
	return quiet
}
