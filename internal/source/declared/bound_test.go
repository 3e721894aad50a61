package declared_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	sim "sluice/internal/simulator/declared"
	"sluice/internal/source"
	"sluice/internal/source/declared"
)

const movable = `source: shop
config: {url: https://shop.example}
base: "{config.url}/v1"
auth: bearer
ration: {all: {per: key, calls: 1000, every: 1s, shape: sliding}}
streams:
  orders:
    get: "/orders?since={cursor}"
    page: {type: page, param: page, size: {per_page: 20}}
    records: items
    key: id
    version: updated_at
  goods:
    get: /goods
    page: {type: page, param: page, size: {per_page: 20}, total: total}
    records: items
    key: id
    conditional: etag
`

func TestDestination(t *testing.T) {
	src, err := declared.New(load(t, movable), declared.Options{})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := src.With(map[string]string{"url": "HTTP://Other.example:8080"})
	if err != nil {
		t.Fatal(err)
	}
	same, _ := src.With(map[string]string{"url": "HTTP://Other.example:8080"})
	if same != elsewhere {
		t.Error("two accounts with the same values share nothing")
	}
	replaced, _ := src.With(map[string]string{"base": "https://shop.example/v9"})
	given := strings.Replace(movable, "auth: bearer", "auth: {oauth2: {token: https://login.example/t, grant: client_credentials}}", 1)
	granted, err := declared.New(load(t, given), declared.Options{})
	if err != nil {
		t.Fatal(err)
	}
	public, err := declared.New(load(t, strings.Replace(movable, "auth: bearer", "auth: none", 1)), declared.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for want, of := range map[string]source.Bound{
		"https://shop.example": src, "http://other.example:8080": elsewhere.(source.Bound),
		"https://shop.example and https://login.example": granted, "": public,
	} {
		if to, err := of.Destination("acme", "a:b"); to != want || err != nil {
			t.Errorf("it goes to %q, %v, want %q", to, err, want)
		}
	}
	if to, _ := replaced.(source.Bound).Destination("acme", "x"); to != "https://shop.example" {
		t.Errorf("another path of the host is %q", to)
	}
	if _, err := src.With(map[string]string{"uri": "x"}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("what it has not is set: %v", err)
	}
}

// TestAnotherAddress: what was collected from one address is not believed of another, and
// neither is it when the first comes back.
func TestAnotherAddress(t *testing.T) {
	d := drive(t, movable, sim.Options{Seed: 1, Records: 60})
	complete := func(why string) {
		t.Helper()
		d.run()
		if len(d.failures) > 0 {
			t.Fatalf("%s: %v", why, d.failures)
		}
	}
	complete("first")
	first := d.calls
	d.now = d.now.Add(1)
	complete("again")
	if d.calls >= first {
		t.Fatalf("a later run makes %d calls of %d", d.calls, first)
	}
	described, err := d.file.Simulated()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := sim.ParseSpec(described)
	if err != nil {
		t.Fatal(err)
	}
	other, err := sim.New(spec, sim.Options{Seed: 2, Records: 60, Now: func() time.Time { return d.now }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(other)
	t.Cleanup(server.Close)
	other.SetURL(server.URL)
	here := d.src
	there, err := here.With(map[string]string{"base": server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []source.Source{there, here} {
		d.src = at.(*declared.Source)
		complete("elsewhere")
		if d.calls < first {
			t.Errorf("after a move it makes %d calls, and %d are everything", d.calls, first)
		}
		complete("again there")
		if d.calls >= first {
			t.Errorf("a later run after a move makes %d calls", d.calls)
		}
	}
}

// TestRunOfAnotherAddress: a run does not go on at an address that it did not begin at.
func TestRunOfAnotherAddress(t *testing.T) {
	src, err := declared.New(load(t, movable), declared.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := domain.Run{ID: 1, AccountID: 7, Source: "shop", Login: "acme"}
	jobs, err := src.Plan(run)
	if err != nil {
		t.Fatal(err)
	}
	moved, _ := src.With(map[string]string{"url": "http://127.0.0.1:1"})
	res := moved.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: "x"})
	if res.Verdict != source.FailRun || !res.Free || !strings.Contains(res.Failure.Message, "another address") {
		t.Errorf("got %+v", res)
	}
}
