package logs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// CorrelationHeader is what a caller may name its request with, and learns its name
// from: a request, the run that it began, the jobs of that run and their calls have
// one correlation id, which stands in every log line and span of theirs. It is never
// sent to an upstream.
const CorrelationHeader = "X-Request-Id"

// CorrelationAttribute is what log lines and spans call it.
const CorrelationAttribute = "correlation_id"

const (
	maxCorrelation     = 64
	correlationLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:"
)

// AcceptCorrelation is the id that a caller gave, if it is sane: it goes into logs.
// Any other gets a new one.
func AcceptCorrelation(given string) string {
	if given != "" && len(given) <= maxCorrelation && strings.Trim(given, correlationLetters) == "" {
		return given
	}
	var random [12]byte
	// It never fails.
	_, _ = rand.Read(random[:])
	return hex.EncodeToString(random[:])
}

type correlationKey struct{}

// WithCorrelation is a context of what has an id.
func WithCorrelation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, correlationKey{}, id)
}

// Correlation is the id of a context; "" if it has none.
func Correlation(ctx context.Context) string {
	id, _ := ctx.Value(correlationKey{}).(string)
	return id
}
