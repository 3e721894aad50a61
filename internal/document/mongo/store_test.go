package mongo_test

import (
	"context"
	"os"
	"testing"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/document/mongo"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

func open(tb testing.TB, url string) *mongo.Store {
	tb.Helper()
	store, err := mongo.Open(tb.Context(), mongo.Options{URL: url})
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := store.Close(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return store
}

func TestConformance(t *testing.T) {
	documenttest.Run(t, documenttest.Factory{New: func(t *testing.T) document.Store {
		return open(t, testkit.Mongo(t))
	}})
}
