package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"sluice/internal/backend/mongo"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// On a busy machine, a few seconds are these: soon for a server that is gone,
// later for one that has to be given up first.
const (
	soon  = 20 * time.Second
	later = 45 * time.Second
)

// TestDocumentsOutage kills the server in the middle of writing, and starts it again.
func TestDocumentsOutage(t *testing.T) {
	t.Parallel()
	server := testkit.StartMongo(t)
	store := openDocuments(t, server.URL())
	// This one waits less for a server, to be quick with many calls.
	db := open(t, server.URL()+"?serverSelectionTimeoutMS=200")
	hasty := documentsOf(t, db)
	acknowledged := 0
	write := func() error {
		err := store.Upsert(t.Context(), []document.Document{pull(fmt.Sprint(acknowledged), 1)})
		if err == nil {
			acknowledged++
		}
		return err
	}
	for range 20 {
		if err := write(); err != nil {
			t.Fatalf("upsert: %v", err)
		}
	}
	server.Kill()
	began := time.Now()
	if err := write(); domain.CodeOf(err) != domain.CodeUnavailable || time.Since(began) > soon {
		t.Errorf("after %v without a server: %v, want code unavailable", time.Since(began), err)
	}
	checkAllUnavailable(t, db, hasty)
	server.Start()
	if err := write(); err != nil {
		t.Fatalf("upsert when the server is back: %v", err)
	}
	if err := store.Check(t.Context()); err != nil {
		t.Errorf("check when the server is back: %v", err)
	}
	// An outage that nobody saw is none, but for the connections.
	server.Kill()
	server.Start()
	if err := write(); err != nil {
		t.Fatalf("upsert after a short outage: %v", err)
	}
	n, err := store.Count(t.Context(), 7)
	if err != nil || n[documenttest.KindPull] != int64(acknowledged) {
		t.Errorf("%v (%v) are there, want %d", n, err, acknowledged)
	}
}

// checkAllUnavailable makes every call there is.
func checkAllUnavailable(t *testing.T, db *mongo.DB, store *mongo.Documents) {
	t.Helper()
	for name, call := range map[string]func() error{
		"upsert": func() error { return store.Upsert(t.Context(), []document.Document{pull("1", 1)}) },
		"mark": func() error {
			gone := document.Absence{Account: 1, Repository: 1, Why: document.GoneDeleted, Since: at(1)}
			return store.MarkDeleted(t.Context(), []document.Absence{gone})
		},
		"get":   func() error { _, _, err := store.Get(t.Context(), pull("1", 1).Key); return err },
		"count": func() error { _, err := store.Count(t.Context(), 1); return err },
		"purge": func() error { _, err := store.Purge(t.Context(), 1, 10); return err },
		"check": func() error { return store.Check(t.Context()) },
		"scan": func() error {
			return store.Scan(t.Context(), document.Query{}, func(*document.Document) error { return nil })
		},
		"version": func() error { _, err := db.Version(t.Context()); return err },
	} {
		if err := call(); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("%s without a server: %v, want code unavailable", name, err)
		}
	}
}

// TestDocumentsAServerThatHangs takes calls and does not answer them.
func TestDocumentsAServerThatHangs(t *testing.T) {
	t.Parallel()
	server := testkit.StartMongo(t)
	store := openDocuments(t, server.URL()+"?serverSelectionTimeoutMS=5000")
	server.Pause()
	began := time.Now()
	err := store.Check(t.Context())
	if took := time.Since(began); domain.CodeOf(err) != domain.CodeUnavailable || took > later {
		t.Errorf("after %v: %v, want code unavailable", took, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- store.Check(ctx) }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left is told %v", err)
	}
	server.Continue()
	if err := store.Check(t.Context()); err != nil {
		t.Errorf("when the server goes on: %v", err)
	}
}
