package mysql_test

import (
	"os"
	"testing"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/document/mysql"
	"sluice/internal/mysqldb"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

func open(t *testing.T) (*mysql.Store, *mysqldb.DB) {
	t.Helper()
	db, err := mysqldb.Open(t.Context(), mysqldb.Options{URL: testkit.MariaDB(t)})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	store, err := mysql.New(db)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return store, db
}

func TestConformance(t *testing.T) {
	documenttest.Run(t, documenttest.Factory{New: func(t *testing.T) document.Store {
		store, _ := open(t)
		return store
	}})
}
