package httpapi_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	docs "sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	githubsim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
)

// fetch makes a GET request and reads the whole answer.
func fetch(t *testing.T, address string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, text, err
}

// idsOf reads the ids of an export in any format.
func idsOf(t *testing.T, format string, text []byte) []string {
	t.Helper()
	ids := []string{}
	switch export.Format(format) {
	case export.FormatJSONL:
		for line := range bytes.Lines(text) {
			var row struct{ ID any }
			d := json.NewDecoder(bytes.NewReader(line))
			d.UseNumber()
			if err := d.Decode(&row); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, fmt.Sprint(row.ID))
		}
	case export.FormatCSV:
		records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range records[1:] {
			ids = append(ids, record[0])
		}
	case export.FormatParquet:
		f, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		rows := parquet.NewReader(f)
		buffer := make([]parquet.Row, f.NumRows())
		if n, err := rows.ReadRows(buffer); int64(n) != f.NumRows() {
			t.Fatalf("read %d rows: %v", n, err)
		}
		for _, row := range buffer {
			ids = append(ids, row[0].String())
		}
	}
	return ids
}

// truthOf lists the ids that an export of a kind must have.
func truthOf(kind string, truth githubsim.Truth) []string {
	ids := []string{}
	items := func(list []githubsim.TruthItem) {
		for _, i := range list {
			ids = append(ids, fmt.Sprint(i.ID))
		}
	}
	for _, r := range truth.Repositories {
		switch export.Kind(kind) {
		case "repositories":
			ids = append(ids, fmt.Sprint(r.ID))
		case "issues":
			items(r.Issues)
		case "pulls":
			items(r.Pulls)
		case "commits":
			for _, c := range r.Commits {
				ids = append(ids, fmt.Sprintf("%d:%s", r.ID, c.SHA))
			}
		}
	}
	switch export.Kind(kind) {
	case "events":
		ids = append(ids, truth.Events...)
	case "profiles":
		ids = append(ids, fmt.Sprint(truth.Profile.ID))
	case export.KindStatistics:
		ids = append(ids, "1")
	}
	slices.Sort(ids)
	return ids
}

// everybodys are the kinds of which every account has something.
var everybodys = []string{"repositories", "commits", "issues", "pulls", "events", "profiles", string(export.KindStatistics)}

// TestExportEqualsTruth collects two accounts and exports one of them.
func TestExportEqualsTruth(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	for n := range 2 {
		who := c.service.Signup(n)
		c.wait(c.signup("github", who.Login, who.Token, http.StatusCreated).Run.ID)
	}
	login := c.service.Signup(0).Login
	truth, err := c.service.GitHub.Truth(login, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range export.Kinds(github.Kinds()) {
		want := truthOf(kind, truth)
		for _, format := range export.Formats() {
			q := url.Values{"kind": {kind}, "format": {format}, "account": {login}}
			res, text, err := fetch(t, c.service.URL+"/api/v1/export?"+q.Encode())
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("%s as %s: %v, %v", kind, format, res.Status, err)
			}
			got := idsOf(t, format, text)
			slices.Sort(got)
			if !slices.Equal(got, want) || len(want) == 0 && slices.Contains(everybodys, kind) {
				t.Errorf("%s as %s: got\n%v\nwant\n%v", kind, format, got, want)
			}
			if rows := res.Trailer.Get(wire.TrailerRows); rows != fmt.Sprint(len(want)) {
				t.Errorf("%s as %s: the trailer says %q", kind, format, rows)
			}
			if name := res.Header.Get("Content-Disposition"); !strings.Contains(name, kind+"."+format) {
				t.Errorf("%s as %s is named %s", kind, format, name)
			}
			if got := res.Header.Get("Content-Type"); got != export.Format(format).MediaType() {
				t.Errorf("%s as %s: the type is %s", kind, format, got)
			}
		}
	}
	_, all, err := fetch(t, c.service.URL+"/api/v1/export?kind=repositories")
	if ids := idsOf(t, "jsonl", all); err != nil || len(ids) != 4 {
		t.Errorf("of all accounts: %v, %v", ids, err)
	}
	both := c.service.URL + "/api/v1/export?kind=statistics&account=1&account=" + c.service.Signup(1).Login
	if _, text, err := fetch(t, both); err != nil || !slices.Equal(idsOf(t, "jsonl", text), []string{"1", "2"}) {
		t.Errorf("of two accounts: %s, %v", text, err)
	}
}

func TestExportOfNothing(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	res, text, err := fetch(t, c.service.URL+"/api/v1/export?kind=commits")
	if err != nil || len(text) != 0 || res.Trailer.Get(wire.TrailerRows) != "0" || res.Header.Get("Content-Type") != export.FormatJSONL.MediaType() {
		t.Errorf("got %q, %v, %v", text, err, res)
	}
}

func TestRefusedExports(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	for query, says := range map[string]string{
		"": "kind", "?kind=commit": "kind", "?kind=commits&format=xml": "format", "?kind=commits&since=yesterday": "since",
		"?kind=commits&until=12": "until", "?kind=commits&since=2026-01-02&until=2026-01-02": "later", "?kind=statistics&since=2026-01-02": "all time",
		"?kind=commits&acount=ann": "acount",
	} {
		p := c.refused(http.MethodGet, "/api/v1/export"+query, "", http.StatusUnprocessableEntity, domain.CodeInvalid)
		for _, d := range p.Errors {
			p.Detail += " " + d.Location + " " + d.Message
		}
		if !strings.Contains(p.Detail, says) {
			t.Errorf("%s: %q does not say %q", query, p.Detail, says)
		}
	}
	c.refused(http.MethodGet, "/api/v1/export?kind=commits&account=nobody", "", http.StatusNotFound, domain.CodeNotFound)
}

// library is a fake with documents, which fails after so many.
type library struct {
	*fake
	rows int
	err  error
	// reached, if set, is closed when all rows were given; no end comes then.
	reached chan struct{}
}

func (l *library) Accounts(context.Context) ([]domain.Account, error) {
	return []domain.Account{{ID: 1, Source: "github", Login: "ann"}}, nil
}

func (l *library) Get(context.Context, docs.Key) (docs.Document, bool, error) {
	return docs.Document{}, false, nil
}

func (l *library) Count(context.Context, int64) (map[docs.Kind]int64, error) { return nil, nil }

func (l *library) Scan(ctx context.Context, q docs.Query, fn func(*docs.Document) error) error {
	if q.Kind != github.KindCommit {
		return nil
	}
	for i := range l.rows {
		if err := fn(&docs.Document{Key: docs.Key{Account: 1, Kind: q.Kind, Name: fmt.Sprintf("1:%016x", uint64(i)*0x9E3779B97F4A7C15)}}); err != nil {
			return err
		}
	}
	if l.reached != nil {
		close(l.reached)
		<-ctx.Done()
		return ctx.Err()
	}
	return l.err
}

func (l *library) serve(t *testing.T) string {
	t.Helper()
	deps := l.deps()
	deps.Reader, deps.Documents = l, l
	server := httptest.NewServer(httpapi.New(deps, httpapi.Options{}))
	t.Cleanup(server.Close)
	return server.URL + "/api/v1/export?kind=commits&format="
}

func TestEarlyFailureIsAProblem(t *testing.T) {
	l := &library{fake: newFake(), rows: 10, err: domain.Errorf(domain.CodeUnavailable, "the disk is away")}
	address := l.serve(t)
	for _, format := range export.Formats() {
		res, text, err := fetch(t, address+format)
		var p wire.Problem
		if err != nil || json.Unmarshal(text, &p) != nil || res.StatusCode != http.StatusServiceUnavailable || p.Code != domain.CodeUnavailable {
			t.Errorf("%s: got %s %q, %v", format, res.Status, text, err)
		}
	}
}

func TestLateFailureCutsTheConnection(t *testing.T) {
	l := &library{fake: newFake(), err: domain.Errorf(domain.CodeCorrupt, "the disk is broken")}
	address := l.serve(t)
	for _, format := range export.Formats() {
		if l.rows = 5000; format == string(export.FormatParquet) {
			l.rows = 60_000 // a group of rows is written as a whole
		}
		res, text, err := fetch(t, address+format)
		if !errors.Is(err, io.ErrUnexpectedEOF) || res.StatusCode != http.StatusOK || res.Trailer.Get(wire.TrailerRows) != "" {
			t.Errorf("%s: got %s, %d bytes, %v, %v", format, res.Status, len(text), err, res.Trailer)
		}
	}
	if log := l.log.String(); strings.Count(log, "the disk is broken") != len(export.Formats()) {
		t.Errorf("the log says %s", log)
	}
}

func TestStoppingCutsAnExport(t *testing.T) {
	l := &library{fake: newFake(), rows: 2000, reached: make(chan struct{})}
	address := l.serve(t)
	go func() {
		<-l.reached
		l.lifecycle.Stopping()
	}()
	if _, text, err := fetch(t, address+"jsonl"); !errors.Is(err, io.ErrUnexpectedEOF) || len(text) == 0 {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
}
