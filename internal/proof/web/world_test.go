package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	sim "sluice/internal/simulator/github"
	maplesim "sluice/internal/simulator/maplestory"
	"sluice/internal/testkit/sluice"
)

const gameKey = maplesim.DefaultKey

// holdAll holds every call of a run, also those that are tried again after they took
// too long.
const holdAll = 10_000

// preferred has pages be light or dark.
func preferred(scheme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
}

// world is a service with simulated upstreams that has collected something, has a
// failed job, dead letters and timers.
type world struct {
	*sluice.Service
	upstream *sluice.Upstream
	game     *sluice.Game
	receiver *receiver
	failed   int
}

// start runs a service whose API needs a token.
func start(t *testing.T, accounts int, more ...string) *world {
	t.Helper()
	return startOn(t, sim.Options{Accounts: accounts}, more...)
}

// startOn runs one whose upstream grants what the options say.
func startOn(t *testing.T, o sim.Options, more ...string) *world {
	t.Helper()
	o.Seed, o.Shape = 7, &sim.Shape{Repos: sim.Between(4, 9), Commits: sim.Between(5, 60), Issues: sim.Between(2, 20), Pulls: sim.Between(1, 9)}
	w := &world{upstream: sluice.NewUpstream(t, o), game: sluice.SimulateGame(t), receiver: newReceiver(t)}
	w.Service = sluice.Up(t, w.upstream, []string{
		"SLUICE_API_TOKEN=" + sluice.APISecret, "SLUICE_MAPLESTORY_KEY=" + gameKey,
		"SLUICE_SINK=hook=" + w.receiver.URL, "SLUICE_WEBHOOK_SECRET=a-secret-of-webhooks-for-tests",
	}, append([]string{"--maplestory-url", w.game.URL, "--prefetch", "0", "--webhook-allow-private"}, more...)...)
	w.Token = sluice.APISecret
	return w
}

// collected adds accounts and waits for their runs; one job of the last fails.
func (w *world) collected(logins ...string) {
	w.T.Helper()
	for i, login := range logins {
		if i == len(logins)-1 {
			w.upstream.FailNext(sim.PathContains("/events"), 1, sim.Fault{Status: http.StatusGone, Body: `{"message":"gone"}`})
		}
		w.failed = w.Signup(login, w.upstream.Token(login))
		w.Completes(w.failed)
	}
}

// ask posts to the API, and put puts.
func (w *world) ask(path string, body any) string { return w.send(http.MethodPost, path, body) }

func (w *world) put(path string, body any) string { return w.send(http.MethodPut, path, body) }

func (w *world) send(method, path string, body any) string {
	w.T.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		w.T.Fatal(err)
	}
	status, answer := w.Call(method, path, string(text))
	if status >= http.StatusBadRequest {
		w.T.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return answer
}

// quotedParameter is a text in an address.
func quotedParameter(text string) string { return url.QueryEscape(text) }

// dies asks for a character that does not exist, which the upstream refuses for good.
func (w *world) dies(b *browserTab, keys ...string) {
	w.T.Helper()
	w.ask("/api/v1/refresh", map[string]any{"source": "maplestory", "keys": keys})
	for _, key := range keys {
		b.goTo("/dead-letters")
		b.sees(key)
	}
}
