package notify_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/internal/notify"
)

// TestTargetsThatAreWrong: each mistake is named with what to do, and none of them
// shows a secret.
func TestTargetsThatAreWrong(t *testing.T) {
	const canary = "canary-of-a-secret"
	for text, says := range map[string]string{
		"[{name: ops, type: pigeon}]":                                                                               "webhook, slack or email",
		"[{name: 'a b', type: slack, url: $X}]":                                                                     "letters, digits",
		"[{type: slack, url: $X}]":                                                                                  "letters, digits",
		"[{name: a, type: slack, url: $X}, {name: a, type: slack, url: $X}]":                                        "two targets",
		"[{name: a, type: slack, url: 'https://x/" + canary + "'}]":                                                 "@FILE or $VARIABLE",
		"[{name: a, type: webhook, url: 'https://x', secret: " + canary + "}]":                                      "@FILE or $VARIABLE",
		"[{name: a, type: webhook, secret: $X}]":                                                                    "needs url",
		"[{name: a, type: webhook, url: 'https://x', secret: $X, kinds: [weather]}]":                                "account_paused",
		"[{name: a, type: webhook, url: 'https://x', secret: $X, every: 1ms}]":                                      "between 1s and 24h",
		"[{name: a, type: email, server: mail, from: a@b.c, to: [a@b.c]}]":                                          "HOST:PORT",
		"[{name: a, type: email, server: 'm:25', from: nobody, to: [a@b.c]}]":                                       "nobody",
		"[{name: a, type: email, server: 'm:25', from: a@b.c}]":                                                     "needs to",
		"[{name: a, type: email, server: 'm:25', from: a@b.c, to: ['x\\r\\nBcc: y']}]":                              "which is none",
		"[{name: a, type: email, server: 'm:25', from: a@b.c, to: [a@b.c], security: ssl}]":                         "starttls, tls or none",
		"[{name: a, type: email, server: 'm:25', from: a@b.c, to: [a@b.c], user: u, password: " + canary + "}]":     "@FILE or $VARIABLE",
		"[{name: a, type: email, server: 'm:25', from: a@b.c, to: [a@b.c], user: u, password: $X, security: none}]": "starttls or tls",
	} {
		var all notify.Targets
		if err := all.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var said []string
		all.Check(func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
		told := strings.Join(said, "\n")
		if !strings.Contains(told, says) || strings.Contains(told, canary) || strings.Contains(all.String(), canary) {
			t.Errorf("%s says %q and is shown as %s", text, told, all.String())
		}
	}
	var all notify.Targets
	if err := all.Set("[{name: a, colour: red}]"); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("what nobody knows: %v", err)
	}
	if _, err := notify.New(notify.Options{Targets: notify.Targets{{Name: "a", Type: "slack", URL: "$SLUICE_TEST_NOT_SET"}}}); err == nil || !strings.Contains(err.Error(), "SLUICE_TEST_NOT_SET is not set") {
		t.Errorf("a variable that is not set: %v", err)
	}
}
