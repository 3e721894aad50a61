package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/secret"
)

// TestGather follows pages that are short, and stops at what is wanted.
func TestGather(t *testing.T) {
	pages := map[string]wire.List[int]{
		"": {Items: []int{1}, NextCursor: "a"}, "a": {NextCursor: "b"}, "b": {Items: []int{2, 3}, NextCursor: "c"}, "c": {Items: []int{4}},
	}
	read := func(p client.Page) (wire.List[int], error) {
		page := pages[p.Cursor]
		if len(page.Items) > p.Limit {
			page.Items, page.NextCursor = page.Items[:p.Limit], "more"
		}
		return page, nil
	}
	for limit, want := range map[int]struct {
		items int
		next  string
	}{0: {4, ""}, 1: {1, "a"}, 2: {2, "more"}, 3: {3, "c"}, 4: {4, ""}, 9: {4, ""}} {
		got, err := gather(paging{limit: limit}, read)
		if err != nil || len(got.Items) != want.items || got.NextCursor != want.next {
			t.Errorf("limit %d: got %+v, %v", limit, got, err)
		}
	}
	if rest, err := gather(paging{limit: 9, cursor: "b"}, read); err != nil || len(rest.Items) != 3 {
		t.Errorf("from a cursor: got %+v, %v", rest, err)
	}
}

// TestAccountsFromAddToPurge goes through what can be done with an account that is
// not collected.
func TestAccountsFromAddToPurge(t *testing.T) {
	p := newProgram(t, 3)
	if err := os.WriteFile(filepath.Join(p.dir, secret.FileName), []byte(strings.Repeat("0a", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("first-token\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := p.run(exitOK, "account", "add", "bob", "--token-file", token, "--no-check"); !strings.Contains(out, "bob at github is active") {
		t.Errorf("adding says %q", out)
	}
	p.says("others can read")
	p.app.In = strings.NewReader("second-token")
	if out := p.run(exitOK, "account", "set", "bob", "--token-file", "-", "--no-check"); !strings.Contains(out, "the token of bob is renewed") {
		t.Errorf("setting says %q", out)
	}
	var list wire.AccountList
	if err := json.Unmarshal([]byte(p.run(exitOK, "account", "list", "-o", "json", "--limit", "1")), &list); err != nil || len(list.Items) != 1 || list.NextCursor != "accounts:1" {
		t.Errorf("listed are %+v, %v", list, err)
	}
	if out := p.run(exitOK, "account", "list", "--limit", "1"); strings.Contains(out, "bob") {
		t.Errorf("listed are %q", out)
	}
	p.says("--cursor accounts:1")
	if out := p.run(exitOK, "account", "list", "--cursor", "1"); !strings.Contains(out, "bob") || strings.Contains(out, "ann") {
		t.Errorf("the second page is %q", out)
	}
	out := p.run(exitOK, "account", "show", "ann")
	for _, want := range []string{"ann at github is active", "it was never collected", "documents: 3 commit", "UTC"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q does not show %q", out, want)
		}
	}
	p.run(exitUsage, "account", "purge", "ann")
	p.says("--yes")
	out = p.run(exitOK, "account", "purge", "ann", "--yes")
	if !strings.Contains(out, "account 1, ann, is purged") || !strings.Contains(out, "3 documents") {
		t.Errorf("purging says %q", out)
	}
	p.run(exitFailed, "account", "show", "ann")
	if out := p.run(exitOK, "account", "list", "--status", "purged"); !strings.Contains(out, domain.PurgedLogin(1)) {
		t.Errorf("purged are %q", out)
	}
}

// TestBulkCommands asks for nothing, of which there is enough here.
func TestBulkCommands(t *testing.T) {
	p := newProgram(t, 1)
	for line, want := range map[string]string{
		"job retry --all --error server --account ann --dry-run": "0 failed jobs would be retried",
		"job retry --all --type LIST":                            "0 failed jobs retried",
		"run cancel --all --status running":                      "0 runs canceled",
		"run list --status failed":                               "RUN",
		"job list --account ann --error timeout":                 "JOB",
		"dead-letter list --kind statistics":                     "LETTER",
	} {
		if out := p.run(exitOK, strings.Fields(line)...); !strings.Contains(out, want) {
			t.Errorf("%s says %q, want %q", line, out, want)
		}
	}
	for _, line := range []string{"job retry", "job retry 5 --all", "run list --status nonsense", "job list --error nonsense"} {
		p.run(exitUsage, strings.Fields(line)...)
	}
}
