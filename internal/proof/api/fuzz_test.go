package api_test

import (
	"context"
	"flag"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

var fuzzSeconds = flag.Int("fuzz-seconds", 120, "how long the API is fuzzed in the long form; the short one makes a few requests of each operation")

// howMuch is what the short form tries, by number, and the long one, by time.
func howMuch() []string {
	if testing.Short() {
		return []string{"--phases", "examples,fuzzing", "--max-examples", "8"}
	}
	return []string{"--phases", "examples,coverage,fuzzing", "--max-time", strconv.Itoa(*fuzzSeconds)}
}

// tried are the operations that schemathesis says it was to try, and has tried.
var tried = regexp.MustCompile(`Selected: (\d+)/\d+\s+Tested: (\d+)`)

// canary is a credential that goes in everywhere and must come out nowhere.
const canary = "ghp_canary5d1f0a7c"

// TestFuzz sends what schemathesis makes of the description to every operation:
// nothing may fail on our side, hang, answer what is not described, accept what the
// description refuses, or show a secret.
func TestFuzz(t *testing.T) {
	t.Parallel()
	s, u := start(t)
	// Some of it is to be found.
	s.Completes(s.Signup(u.Logins()[0], u.Token(u.Logins()[0])))
	fuzz := program{dir: t.TempDir(), env: []string{
		"PYTHONPATH=" + testdata(t, ""), "SCHEMATHESIS_HOOKS=fuzz",
		"SLUICE_FUZZ_SECRETS=" + strings.Join([]string{canary, s.Token, u.Token(u.Logins()[0]), gameKey}, ","),
	}}
	said := fuzz.run(t, tool(t, "python/bin/st"), append([]string{
		"--config-file", testdata(t, "schemathesis.toml"), "run", s.URL + "/api/openapi.json",
		"--header", "Authorization: Bearer " + s.Token, "--request-timeout", "60", "--workers", "2",
		"--seed", strconv.FormatUint(testkit.Seed(t)%1_000_000, 10), "--continue-on-failure",
		// Streams have no end: they have a test of their own.
		"--exclude-path-regex", "/events$", "--warnings", "off",
	}, howMuch()...)...)
	if found := tried.FindStringSubmatch(said); found == nil || found[1] != found[2] {
		t.Errorf("not everything was tried:\n%s", tail(said))
	}
	t.Log(said[max(0, len(said)-400):])
	if status, text := s.Call(http.MethodGet, "/readyz", ""); status != http.StatusOK {
		t.Errorf("afterwards the service is not ready: %d %s", status, text)
	}
	log := s.Stderr.Text()
	for _, secret := range []string{canary, s.Token, u.Token(u.Logins()[0]), gameKey} {
		if strings.Contains(log, secret) {
			t.Error("the log shows a secret")
		}
	}
	for _, bad := range []string{"panicked", "a request failed"} {
		if i := strings.Index(log, bad); i >= 0 {
			t.Errorf("the log says: %s", log[max(0, i-200):min(len(log), i+2000)])
		}
	}
}

// TestFuzzStreams comes to every stream with what is no id of an event, and with
// parameters that are none.
func TestFuzzStreams(t *testing.T) {
	t.Parallel()
	s, u := start(t)
	s.Completes(s.Signup(u.Logins()[0], u.Token(u.Logins()[0])))
	ids := []string{"", "0", "-1", "7", "99999999999999999999", "1:x", "9007199254740993:", "NaN", "\"", "%00", strings.Repeat("9", 299), strings.Repeat("x", 5000)}
	for _, path := range []string{
		"/api/v1/events", "/api/v1/events?after=0", "/api/v1/events?after=-2", "/api/v1/events?after=9223372036854775807", "/api/v1/events?after=",
		"/api/v1/runs/1/events", "/api/v1/runs/9223372036854775807/events", "/api/v1/runs/0/events", "/api/v1/runs/x/events",
		"/api/v1/completions/events", "/api/v1/completions/events?after=x", "/api/v1/completions/events?after=1:", "/api/v1/completions/events?before=1",
		"/api/v1/snapshots/maplestory/x/events", "/api/v1/snapshots/nowhere/x/events", "/api/v1/snapshots/maplestory/%00/events",
	} {
		for _, id := range ids {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
				checkStream(t, s, method, path, id)
			}
		}
	}
}

func checkStream(t *testing.T, s *sluice.Service, method, path, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	header := map[string]string{}
	if id != "" {
		header["Last-Event-ID"] = id
	}
	status, text := ask(ctx, t, s, method, path, header)
	switch {
	case status >= http.StatusInternalServerError:
		t.Errorf("%s %s after %.20q: %d %s", method, path, id, status, text)
	case status == http.StatusOK && method == http.MethodGet && !strings.Contains(text, "event: ") && !strings.HasPrefix(path, "/api/v1/runs/1/"):
		t.Errorf("%s %s after %.20q begins with %q", method, path, id, text)
	case status >= http.StatusBadRequest && method != http.MethodHead && !strings.Contains(text, `"type":"/docs/problems#`):
		t.Errorf("%s %s after %.20q: %d %q is no problem", method, path, id, status, text)
	}
}
