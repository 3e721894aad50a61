package access_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/domain"
)

// TestEntriesAreOneLineAndHoldNoToken: the path of a request is its caller's choice.
func TestEntriesAreOneLineAndHoldNoToken(t *testing.T) {
	who := access.Identity{Actor: access.ActorToken("x"), Role: access.Admin}
	const secret = "sluice_Wk3J8zQp0aVn5rT1yB7uC4mD9sE2fG6hL0iK3jN8oXq"
	entry, _ := access.NewTrail(time.Unix(0, 0), who, "::1", "delete-timer", "/api/v1/timers/a\n2026 \x1b[2J\u202e").Due()
	if domain.Printable(entry.Target) != entry.Target || !strings.Contains(entry.Target, `a\n2026`) {
		t.Errorf("the target is %q", entry.Target)
	}
	trail := access.NewTrail(time.Unix(0, 0), who, "::1", "revoke-token", "/api/v1/tokens/"+secret)
	access.About(access.WithTrail(t.Context(), trail), "named ghp_0123456789abcdefghij")
	if entry, _ = trail.Due(); strings.Contains(entry.Target, "Wk3J") || strings.Contains(entry.Target, "0123456789") || !strings.HasPrefix(entry.Target, "/api/v1/tokens/") {
		t.Errorf("the target is %q", entry.Target)
	}
}
