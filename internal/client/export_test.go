package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	"sluice/internal/stats"
)

func TestExport(t *testing.T) {
	c, s := start(t, apitest.Options{})
	ctx := t.Context()
	who := s.Signup(0)
	s.Wait(t, ok[wire.SignupAnswer](t)(c.Signup(ctx, who)).Run.ID)
	var out bytes.Buffer
	rows := func(q client.ExportQuery) int64 {
		t.Helper()
		out.Reset()
		return ok[int64](t)(c.Export(ctx, q, &out))
	}
	all := client.ExportQuery{Kind: "commits", Format: export.FormatJSONL}
	if n := rows(all); n != 6 || strings.Count(out.String(), "\n") != 6 {
		t.Errorf("got %d rows:\n%s", n, out.String())
	}
	one := all
	one.Accounts = []string{who.Login, "1"}
	if n := rows(one); n != 6 {
		t.Errorf("got %d rows of %v", n, one.Accounts)
	}
	never := all
	never.Since, never.Until = time.Unix(0, 0), time.Unix(1, 500)
	if n := rows(never); n != 0 || out.Len() != 0 {
		t.Errorf("got %d rows of another time", n)
	}
	never.Accounts = []string{"nobody"}
	if _, err := c.Export(ctx, never, &out); domain.CodeOf(err) != domain.CodeNotFound || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v", err)
	}

	if a := ok[stats.Account](t)(c.AccountStats(ctx, who.Login)); a.Login != who.Login || a.Commits.Seen != 6 || len(a.Standings) == 0 {
		t.Errorf("got %+v", a)
	}
	if b := ok[wire.Leaderboard](t)(c.Leaderboard(ctx, stats.ByStars, client.Page{Limit: 1})); b.By != stats.ByStars || len(b.Items) != 1 || b.Items[0].Login != who.Login {
		t.Errorf("got %+v", b)
	}
	if g := ok[stats.Totals](t)(c.GlobalStats(ctx)); g.Accounts != 1 || g.Repositories != 2 {
		t.Errorf("got %+v", g)
	}
}

// TestShortExportsAreNoticed has a service, or something between, end an
// export too soon in every way there is.
func TestShortExportsAreNoticed(t *testing.T) {
	for what, answer := range map[string]http.HandlerFunc{
		"connection cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", wire.TrailerRows)
			fmt.Fprintln(w, `{"id":1}`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"no trailer": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"id":1}`) },
		"empty trailer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", wire.TrailerRows)
			fmt.Fprintln(w, `{"id":1}`)
		},
		"length not kept": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprintln(w, `{"id":1}`)
		},
	} {
		server := httptest.NewServer(answer)
		var out bytes.Buffer
		_, err := newClient(t, server.URL, "").Export(t.Context(), client.ExportQuery{Kind: "commits", Format: export.FormatJSONL}, &out)
		server.Close()
		if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), server.URL) {
			t.Errorf("%s: got %v and %q", what, err, out.String())
		}
	}
}

var errDiskFull = errors.New("the disk is full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errDiskFull }

// slowDisk takes an hour for each piece.
type slowDisk struct{}

func (slowDisk) Write(b []byte) (int, error) {
	time.Sleep(time.Hour) // of the bubble's clock
	return len(b), nil
}

func TestOwnFailureIsNotTheServices(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "rows") }))
	defer server.Close()
	if _, err := newClient(t, server.URL, "").Export(t.Context(), client.ExportQuery{}, fullDisk{}); !errors.Is(err, errDiskFull) || domain.CodeOf(err) == domain.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestSilentExportIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New("http://localhost", "", &http.Client{Transport: mute{"rows"}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = c.Export(t.Context(), client.ExportQuery{}, slowDisk{})
		if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "stopped answering") {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(began) - time.Hour; waited != 5*time.Minute {
			t.Errorf("gave up after %v", waited)
		}
	})
}
