package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/internal/access"
	"sluice/internal/testkit/sluice"
)

// TestChangesWithoutAServiceAreAudited: each command that changes a data folder by
// itself leaves an entry with its outcome.
func TestChangesWithoutAServiceAreAudited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	token, backup := filepath.Join(t.TempDir(), "token"), filepath.Join(t.TempDir(), "sluice.backup")
	if err := os.WriteFile(token, []byte("ghp_canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	within := func(args ...string) []string { return append(args, "--data-dir", dir) }
	var actions []string
	for _, c := range []struct {
		action string
		args   []string
	}{
		{"create-token", within("token", "create", "ops", "--role", "admin")},
		{"signup", within("account", "add", "octocat", "--token-file", token)},
		{"set-account", within("account", "set", "octocat", "--keep", "7")},
		{"set-timer", within("timer", "set", "tea", "--in", "1h")},
		{"rotate-key", within("key", "rotate")},
		{"purge-account", within("account", "purge", "octocat", "--yes")},
		// What was purged has nothing that could be renewed.
		{"rotate-key", within("key", "rotate")},
		{"revoke-token", within("token", "revoke", "ops")},
	} {
		a := sluice.Run(t, nil, c.args...).Expect(t, 0)
		if strings.Contains(a.Out, "purged:") || strings.Contains(a.Out, "cannot be opened") {
			t.Errorf("%v says %s", c.args, a.Out)
		}
		actions = append(actions, c.action)
	}
	sluice.Run(t, nil, within("backup", backup)...).Expect(t, 0)
	sluice.Run(t, nil, within("restore", backup, "--force")...).Expect(t, 0)
	actions = append(actions, "restore-backup")
	entries := audited(t, dir)
	slices.Reverse(entries)
	if len(entries) != len(actions) {
		t.Fatalf("there are %d entries of %d changes: %+v", len(entries), len(actions), entries)
	}
	for i, e := range entries {
		if e.Action != actions[i] || e.Outcome != access.Done || !strings.HasPrefix(e.Actor, "local:") {
			t.Errorf("change %d, %s, left %+v", i, actions[i], e)
		}
	}
}

// audited are the entries of a data folder, newest first.
func audited(t *testing.T, dir string) []access.Entry {
	t.Helper()
	var list struct{ Items []access.Entry }
	a := sluice.Run(t, nil, "audit", "list", "--limit", "0", "-o", "json", "--data-dir", dir).Expect(t, 0)
	if err := json.Unmarshal([]byte(a.Out), &list); err != nil {
		t.Fatalf("%v: %s", err, a.Out)
	}
	return list.Items
}

// TestATokenIsNoName: who gives a token in the place of its name sends it nowhere.
func TestATokenIsNoName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	secret := strings.TrimSpace(sluice.Run(t, nil, "token", "create", "ops", "--role", "admin", "--data-dir", dir).Expect(t, 0).Out)
	for given, says := range map[string]string{secret: "sluice token revoke ops", "sluice_" + strings.Repeat("x", 43): "sluice token list"} {
		a := sluice.Run(t, nil, "token", "revoke", given, "--data-dir", dir).Expect(t, 2, says)
		if strings.Contains(a.Out+a.Err, given[8:]) {
			t.Errorf("it says %s%s", a.Out, a.Err)
		}
	}
	if entries := audited(t, dir); len(entries) != 1 || entries[0].Action != "create-token" {
		t.Errorf("the log has %+v", entries)
	}
}
