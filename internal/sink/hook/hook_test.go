package hook_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sink"
	"sluice/internal/sink/hook"
	"sluice/internal/sink/hook/hooktest"
	"sluice/internal/sink/sinktest"
	"sluice/internal/webhook"
)

const secret = "a secret of the test's own"

// receiver keeps the rows that it is sent, as docs/sinks.md says receivers do.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	rows   map[string]map[[2]string]kept
	ids    []string
	seen   map[string]bool
	bodies map[string]string
	answer int
	after  string
}

type kept struct {
	hook.Row
	generation int64
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{rows: map[string]map[[2]string]kept{}, seen: map[string]bool{}, bodies: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err == nil {
			err = webhook.Verify(secret, q.Header, body, time.Now(), 5*time.Minute)
		}
		var b hook.Batch
		if err == nil {
			err = json.Unmarshal(body, &b)
		}
		if err != nil || b.ID != q.Header.Get(webhook.HeaderID) {
			t.Errorf("the batch %q is not sound: %v", b.ID, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ids = append(r.ids, b.ID)
		if r.answer != 0 {
			w.Header().Set("Retry-After", r.after)
			w.WriteHeader(r.answer)
			return
		}
		if !r.seen[b.ID] {
			r.seen[b.ID] = true
			r.take(&b)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(b *hook.Batch) {
	for _, table := range r.rows {
		for key, row := range table {
			for _, account := range b.Purged {
				if row.Account == account {
					delete(table, key)
				}
			}
		}
	}
	for _, row := range b.Rows {
		if r.rows[row.Table] == nil {
			r.rows[row.Table] = map[[2]string]kept{}
		}
		key := [2]string{string(rune(row.Account)), row.Name}
		if row.Removed {
			delete(r.rows[row.Table], key)
			continue
		}
		r.rows[row.Table][key] = kept{row, b.Generation}
	}
	for _, table := range r.rows {
		for key, row := range table {
			if b.Sweep && row.generation < b.Generation {
				delete(table, key)
			}
		}
	}
}

func (r *receiver) table(t testing.TB, table sink.Table) (rows []sink.Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.rows[table.Name] {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(one.Row.Row, &fields); err != nil {
			t.Fatal(err)
		}
		row := sink.Row{Key: document.Key{Account: one.Account, Kind: table.Kind, Name: one.Name}, Raw: fields["raw"]}
		for _, c := range table.Columns {
			row.Values = append(row.Values, sinktest.ParseJSON(t, c.Type, fields[c.Name]))
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *receiver) answers(status int, after string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer, r.after = status, after
}

func sender(t testing.TB) *webhook.Sender {
	t.Helper()
	s, err := webhook.New(webhook.Options{Secret: secret, AllowPrivate: true, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestHook: a receiver that does as it is told has the tables.
func TestHook(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Place {
		r, store := newReceiver(t), hooktest.NewMemory()
		return sinktest.Place{
			Open: func(t testing.TB) sink.Target {
				return hook.New(hook.Options{Name: "suite", URL: r.URL, Sender: sender(t), Store: store})
			},
			Rows:   r.table,
			Cut:    func(testing.TB) { r.answers(http.StatusServiceUnavailable, "") },
			Mend:   func(testing.TB) { r.answers(0, "") },
			Shared: true,
		}
	})
}

// TestStore: the store of these tests is as the others are.
func TestStore(t *testing.T) {
	hooktest.Run(t, func(*testing.T) hook.Store { return hooktest.NewMemory() })
}

type fixture struct {
	*testing.T
	*receiver
	store  *hooktest.Memory
	target *hook.Hook
	now    time.Time
	tables []sink.Table
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, receiver: newReceiver(t), store: hooktest.NewMemory(), now: time.Unix(1_800_000_000, 0), tables: sink.Tables(sinktest.Kinds(), false)[2:]}
	f.reopen()
	return f
}

func (f *fixture) reopen() {
	f.Helper()
	f.target = hook.New(hook.Options{Name: "s", URL: f.URL + "/hidden", Sender: sender(f), Store: f.store, Now: func() time.Time { return f.now }})
	if err := f.target.Prepare(f.Context(), f.tables); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) apply(position, account int64) error {
	row := sink.Row{Key: document.Key{Account: account, Kind: "event", Name: "e"}, Values: []document.Value{{Text: "e"}, {Text: "t"}}}
	return f.target.Apply(f.Context(), &sink.Batch{Rows: []sink.Row{row}, Progress: sink.Progress{Feed: "f", Position: position, Backfilled: true, Generation: 1}})
}

func (f *fixture) letters() []sink.Letter {
	f.Helper()
	all, err := f.target.Letters(f.Context(), 10)
	if err != nil {
		f.Fatal(err)
	}
	return all
}

// TestRefusedBatchIsSetAside: at once, and the next one is sent.
func TestRefusedBatchIsSetAside(t *testing.T) {
	f := newFixture(t)
	for i, status := range []int{http.StatusGone, http.StatusBadRequest, http.StatusUnauthorized, http.StatusUnprocessableEntity} {
		f.answers(status, "")
		if err := f.apply(int64(i+1), int64(i+1)); err != nil {
			t.Fatal(err)
		}
		f.now = f.now.Add(time.Second)
	}
	f.answers(0, "")
	if err := f.apply(9, 9); err != nil {
		t.Fatal(err)
	}
	letters := f.letters()
	if len(letters) != 4 || letters[0].Status != http.StatusGone || letters[0].Reason == "" || letters[0].Bytes == 0 {
		t.Fatalf("the letters are %+v", letters)
	}
	if p, err := f.target.Progress(t.Context()); err != nil || p.Position != 9 {
		t.Errorf("the progress is %+v, %v", p, err)
	}
	// What is purged goes from letters too.
	if err := f.target.Apply(t.Context(), &sink.Batch{Purged: []int64{2}, Progress: sink.Progress{Feed: "f", Position: 10, Backfilled: true}}); err != nil {
		t.Fatal(err)
	}
	for _, l := range letters {
		if err := f.target.Redrive(t.Context(), l.ID); err != nil {
			t.Fatal(err)
		}
	}
	if rows := f.table(t, f.tables[0]); len(rows) != 4 {
		t.Errorf("after all were sent again there are %d rows, want those of accounts 1, 3, 4 and 9", len(rows))
	}
	if rest := f.letters(); len(rest) != 0 {
		t.Errorf("letters are left: %+v", rest)
	}
	if err := f.target.Discard(t.Context(), "none"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a letter that is not there: %v", err)
	}
}

// TestFailingBatchIsGivenUp: it is tried under one id, also by another process, for as
// long as the receiver may be away.
func TestFailingBatchIsGivenUp(t *testing.T) {
	f := newFixture(t)
	for _, status := range []int{http.StatusInternalServerError, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests} {
		f.answers(status, "")
		err := f.apply(1, 1)
		if domain.CodeOf(err) != domain.CodeUnavailable || strings.Contains(err.Error(), "hidden") {
			t.Fatalf("%d: %v", status, err)
		}
		f.now = f.now.Add(time.Hour - time.Second)
		f.reopen()
	}
	if got := f.letters(); len(got) != 0 {
		t.Fatalf("it was given up too early: %+v", got)
	}
	f.now = f.now.Add(time.Minute)
	if err := f.apply(1, 1); err != nil {
		t.Fatal(err)
	}
	if got := f.letters(); len(got) != 1 {
		t.Errorf("the letters are %+v", got)
	}
	for _, id := range f.ids {
		if id != f.ids[0] {
			t.Errorf("one batch had the ids %q", f.ids)
		}
	}
	// The next one has its own time.
	if err := f.apply(2, 2); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("the next: %v", err)
	}
	if err := f.target.Redrive(t.Context(), f.letters()[0].ID); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("redriven to a receiver that is away: %v", err)
	}
}

// TestAnotherReceiverGetsAll: a sink whose address is another one begins anew.
func TestAnotherReceiverGetsAll(t *testing.T) {
	f := newFixture(t)
	if err := f.apply(5, 1); err != nil {
		t.Fatal(err)
	}
	f.receiver = newReceiver(t)
	f.reopen()
	want := sink.Progress{Generation: 1}
	if p, err := f.target.Progress(t.Context()); err != nil || p != want {
		t.Errorf("the progress is %+v, %v", p, err)
	}
}
