package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
	"sluice/internal/notify"
	"sluice/internal/state"
	"sluice/internal/webhook"
)

const hookSecret = "a secret that signs webhooks"

// receiver is a real server that answers as it is told and remembers what came.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	came   []arrival
	on     func()
}

type arrival struct {
	header http.Header
	body   []byte
}

func startReceiver(t *testing.T) *receiver {
	r := &receiver{status: http.StatusOK}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Errorf("read: %v", err)
		}
		r.mu.Lock()
		r.came = append(r.came, arrival{q.Header, body})
		status, on := r.status, r.on
		r.mu.Unlock()
		if on != nil {
			on()
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *receiver) arrivals() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]arrival(nil), r.came...)
}

// world is a service on a store, with a clock that is moved by hand.
type world struct {
	*testing.T
	*notify.Service
	state *sqlite.State
	mu    sync.Mutex
	now   time.Time
	// ticking has it go by the time of a bubble.
	ticking bool
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ticking {
		return time.Now()
	}
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func targets(t *testing.T, text string) notify.Targets {
	t.Helper()
	var all notify.Targets
	if err := all.Set(text); err != nil {
		t.Fatal(err)
	}
	all.Check(func(format string, args ...any) { t.Errorf(format, args...) })
	return all
}

func webhookTarget(t *testing.T, url string) notify.Targets {
	return targets(t, "[{name: ops, type: webhook, url: "+url+", secret: '@"+secretFile(t, hookSecret)+"', allow_private: true}]")
}

func newWorld(t *testing.T, dir string, all notify.Targets) *world {
	t.Helper()
	return newWorldAt(t, dir, all, time.Now())
}

func newWorldAt(t *testing.T, dir string, all notify.Targets, now time.Time) *world {
	t.Helper()
	w := &world{T: t, now: now}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if w.state, err = sqlite.NewState(t.Context(), db, nil, w.clock); err != nil {
		t.Fatal(err)
	}
	if w.Service, err = notify.New(notify.Options{Store: sqlite.NewNotifications(db), Targets: all, Now: w.clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	if w.Active() {
		w.Look()
		w.round()
	}
	return w
}

func (w *world) round() time.Time {
	w.Helper()
	next, err := w.Round(w.Context())
	if err != nil {
		w.Fatalf("round: %v", err)
	}
	return next
}

// pauses pauses an account of its own, and says so.
func (w *world) pauses(login string) {
	w.Helper()
	a, err := w.state.PutAccount(w.Context(), state.AccountSpec{Source: "github", Login: login, Name: login, Credential: state.Sealed{KeyID: "k", Data: []byte("x")}})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.state.SetAccountState(w.Context(), a.ID, domain.AccountPaused, "the token is refused"); err != nil {
		w.Fatal(err)
	}
	w.Changed(w.clock())
}

// TestReceiverThatFailsAndRecovers: it is sent again, later and later, under the
// same id and signed anew, and once it was taken never again.
func TestReceiverThatFailsAndRecovers(t *testing.T) {
	r := startReceiver(t)
	w := newWorld(t, t.TempDir(), webhookTarget(t, r.URL))
	r.answer(http.StatusInternalServerError)
	w.pauses("ada")
	w.round()
	w.pass(time.Minute)
	for range 3 {
		next := w.round()
		w.pass(next.Sub(w.clock()))
	}
	if n := len(r.arrivals()); n != 3 {
		t.Fatalf("it was tried %d times", n)
	}
	if list := w.list(notify.Query{State: notify.Waiting}); len(list) != 1 || list[0].Tries != 3 || !strings.Contains(list[0].Error, "500") {
		t.Errorf("what waits is %+v", list)
	}
	r.answer(http.StatusAccepted)
	for range 3 {
		w.round()
		w.pass(time.Hour)
	}
	came := r.arrivals()
	if len(came) != 4 {
		t.Fatalf("it was sent %d times", len(came))
	}
	for i, a := range came {
		if a.header.Get(webhook.HeaderID) != came[0].header.Get(webhook.HeaderID) || string(a.body) != string(came[0].body) {
			t.Errorf("attempt %d is another message: %s", i+1, a.body)
		}
		if err := webhook.Verify(hookSecret, a.header, a.body, w.clock(), 24*time.Hour); err != nil {
			t.Errorf("attempt %d: %v", i+1, err)
		}
	}
	var said struct {
		Type string
		Data struct {
			ID, Title string
			Count     int
			Events    []notify.Event
		}
	}
	if err := json.Unmarshal(came[0].body, &said); err != nil || said.Type != "sluice.account_paused" || said.Data.Count != 1 ||
		said.Data.Title != "An account was paused" || said.Data.Events[0].Login != "ada" || said.Data.Events[0].Text != "the token is refused" {
		t.Errorf("it says %s, %v", came[0].body, err)
	}
	if list := w.list(notify.Query{State: notify.Sent}); len(list) != 1 || said.Data.ID != list[0].ID {
		t.Errorf("what was sent is %+v", list)
	}
}

func (w *world) list(q notify.Query) []notify.Message {
	w.Helper()
	list, err := w.Messages(w.Context(), q)
	if err != nil {
		w.Fatal(err)
	}
	return list
}

// TestManyEventsAreFewMessages: a storm of a hundred thousand is a message in
// five minutes, and what is handed in is bounded.
func TestManyEventsAreFewMessages(t *testing.T) {
	r := startReceiver(t)
	w := newWorld(t, t.TempDir(), webhookTarget(t, r.URL))
	for minute := range 10 {
		for i := range 10_000 {
			w.Happened(notify.ReachedFloor(fmt.Sprint("owner", minute, i), "github", "ada", "the quota is used up", w.clock(), w.clock()))
		}
		w.round()
		w.pass(time.Minute)
	}
	if n := len(r.arrivals()); n != 2 {
		t.Errorf("%d messages in ten minutes", n)
	}
	if body := r.arrivals()[1].body; len(body) > 8<<10 || !strings.Contains(string(body), "5000 rations are used up") {
		t.Errorf("the second has %d bytes: %.300s", len(body), body)
	}
}

// TestGivenUpIsSeen: what nobody takes is kept, shown, and sent again on demand.
func TestGivenUpIsSeen(t *testing.T) {
	r := startReceiver(t)
	w := newWorld(t, t.TempDir(), webhookTarget(t, r.URL))
	r.answer(http.StatusGone)
	w.pauses("ada")
	w.round()
	w.pass(time.Minute)
	w.round()
	dead := w.list(notify.Query{State: notify.Dead})
	if len(dead) != 1 || !strings.Contains(dead[0].Error, "410") {
		t.Fatalf("dead are %+v", dead)
	}
	r.answer(http.StatusOK)
	if _, err := w.Retry(t.Context(), dead[0].ID); err != nil {
		t.Fatal(err)
	}
	w.round()
	if sent := w.list(notify.Query{State: notify.Sent}); len(sent) != 1 || len(r.arrivals()) != 2 {
		t.Errorf("sent are %+v", sent)
	}
}

// TestPrivateAddresses: a target that leads into the machine's own network is
// refused unless it may.
func TestPrivateAddresses(t *testing.T) {
	r := startReceiver(t)
	all := webhookTarget(t, r.URL)
	all[0].AllowPrivate = false
	w := newWorld(t, t.TempDir(), all)
	done, err := w.SendTest(t.Context(), "")
	if err != nil || len(done) != 1 || done[0].OK || !done[0].Permanent || !strings.Contains(done[0].Error, "allow_private") || len(r.arrivals()) != 0 {
		t.Errorf("got %+v, %v", done, err)
	}
}

func TestSlack(t *testing.T) {
	r := startReceiver(t)
	url := secretFile(t, r.URL+"/services/T0/B0/canary")
	w := newWorld(t, t.TempDir(), targets(t, "[{name: chat, type: slack, url: '@"+url+"', allow_private: true}]"))
	w.Happened(notify.Event{Key: "x", Kind: notify.BreakerOpen, At: w.clock(), Text: "<script> & <!channel>"})
	w.round()
	w.pass(time.Minute)
	w.round()
	came := r.arrivals()
	if len(came) != 1 || came[0].header.Get(webhook.HeaderSignature) != "" {
		t.Fatalf("came %+v", came)
	}
	var said struct {
		Text   string
		Blocks []struct {
			Type string
			Text struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal(came[0].body, &said); err != nil || said.Text != "Sluice: A part fails and is left alone" || len(said.Blocks) != 3 ||
		said.Blocks[0].Type != "header" || said.Blocks[1].Text.Type != "mrkdwn" || !strings.Contains(said.Blocks[1].Text.Text, "&lt;!channel&gt;") {
		t.Errorf("it says %s, %v", came[0].body, err)
	}
	r.Close()
	done, err := w.SendTest(t.Context(), "chat")
	if err != nil || done[0].OK || strings.Contains(done[0].Error, "canary") || strings.Contains(fmt.Sprint(w.list(notify.Query{})), "canary") {
		t.Errorf("a failure says %+v, %v", done, err)
	}
}

// TestNobodyIsToldOfThePast: what was before anybody asked stays untold; what a
// process that died left is found by the next.
func TestNobodyIsToldOfThePast(t *testing.T) {
	dir, r := t.TempDir(), startReceiver(t)
	quiet := newWorld(t, dir, nil)
	quiet.pauses("old")
	if err := quiet.state.Close(); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, now: time.Now().Add(time.Hour)}
	open := func() {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Holder: "a test"})
		if err != nil {
			t.Fatal(err)
		}
		if w.state, err = sqlite.NewState(t.Context(), db, nil, w.clock); err != nil {
			t.Fatal(err)
		}
		if w.Service, err = notify.New(notify.Options{Store: sqlite.NewNotifications(db), Targets: webhookTarget(t, r.URL), Now: w.clock}); err != nil {
			t.Fatal(err)
		}
		w.Look()
		w.round()
	}
	open()
	w.pass(time.Minute)
	w.pauses("new")
	// It dies before it looks.
	if err := w.state.Close(); err != nil {
		t.Fatal(err)
	}
	open()
	w.pass(time.Minute)
	w.round()
	came := r.arrivals()
	if len(came) != 1 || !strings.Contains(string(came[0].body), `"login":"new"`) || strings.Contains(string(came[0].body), "old") {
		t.Errorf("came %d: %s", len(came), came)
	}
	if err := w.state.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRunSendsByItself: the loop wakes when something happens.
func TestRunSendsByItself(t *testing.T) {
	r := startReceiver(t)
	arrived := make(chan struct{}, 1)
	r.on = func() { arrived <- struct{}{} }
	w := newWorld(t, t.TempDir(), webhookTarget(t, r.URL))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	w.pauses("ada")
	w.round()
	// It is due when the loop begins.
	w.pass(time.Hour)
	go func() { ended <- w.Service.Run(ctx) }()
	<-arrived
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
