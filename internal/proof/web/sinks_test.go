package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// receiver takes what a sink carries, or refuses it.
type receiver struct {
	*httptest.Server
	takes atomic.Bool
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		if !r.takes.Load() {
			http.Error(w, "not today", http.StatusUnprocessableEntity)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// letters sends what the receiver of a sink refused again, and discards it.
func letters(t *testing.T, w *world, b *browserTab) {
	b.t = t
	b.goTo("/system")
	b.press(`#sinks a[href$="/sinks/hook"]`)
	b.sees("What the receiver refused")
	const rows = `document.querySelectorAll("#part-sink tbody tr").length`
	// Accounts were collected one after the other: that is more than one batch.
	b.do(chromedp.PollFunction(`() => `+rows+` > 1`, nil, chromedp.WithPollingTimeout(patience)))
	b.sees("422")
	var before int
	b.do(chromedp.Evaluate(rows, &before))
	b.press(`form[action$="/redrive-sink"] button`)
	b.toldOf(http.StatusServiceUnavailable)
	if !b.is(`document.querySelector(".flash.bad")?.innerText.includes("stays")`) {
		t.Errorf("a receiver that still refuses: %s", b.says("main"))
	}
	w.receiver.takes.Store(true)
	b.press(`form[action$="/redrive-sink"] button`)
	b.sees("1 batch sent again")
	b.press(`form[action$="/discard-sink"] button`)
	b.sees("1 batch discarded")
	var after int
	b.do(chromedp.Evaluate(rows, &after))
	if after != before-2 && before < shownLetters {
		t.Errorf("%d letters of %d are left", after, before)
	}
}

// shownLetters is how many a page has: with more of them, others move up.
const shownLetters = 100
