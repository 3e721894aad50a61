package refresh

import (
	"log/slog"
	"slices"
	"testing"

	"sluice/internal/domain"
)

// TestAnOpenBreakerIsTold once, and not that it is tried again.
func TestAnOpenBreakerIsTold(t *testing.T) {
	var told []string
	breakers := newBreakers(slog.New(slog.DiscardHandler), func(part string) { told = append(told, part) }, breakerUpstream)
	for range 20 {
		err := breakers[breakerUpstream].Do(t.Context(), func() error { return domain.Errorf(domain.CodeUnavailable, "down") })
		if domain.CodeOf(err) != domain.CodeUnavailable {
			t.Fatal(err)
		}
	}
	if !slices.Equal(told, []string{breakerUpstream}) {
		t.Errorf("told %v", told)
	}
}
