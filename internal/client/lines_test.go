package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/internal/client"
)

// TestListsInProblemsStayLists, while nothing else of what a service says begins a line.
func TestListsInProblemsStayLists(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"code":"invalid","detail":"wrong:\n  line 1: a\n  line 2: b\nsluice: all is well\u001b[2J"}`))
	}))
	defer server.Close()
	c, err := client.New(server.URL, "", server.Client())
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Whoami(t.Context())
	if got := err.Error(); got != "wrong:\n  line 1: a\n  line 2: b\\nsluice: all is well\\x1b[2J" || strings.Count(got, "\n") != 2 {
		t.Errorf("%q", got)
	}
}
