package versions_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// unpack is the way back.
func unpack(t *testing.T, file, dir string) {
	t.Helper()
	archive := tar.NewReader(strings.NewReader(read(t, file)))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		var content []byte
		if err == nil {
			content, err = io.ReadAll(archive)
		}
		if err == nil && header.Typeflag == tar.TypeReg {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(header.Name)), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// clientOrders are what only the programs that ship with a server understand.
var clientOrders = regexp.MustCompile(`(?m)^(\\.*|/\*M!999999.*)$`)

func loadMariaDB(t *testing.T, file, url string) {
	t.Helper()
	host, name, _ := strings.Cut(strings.TrimPrefix(url, "mysql://root@"), "/")
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName, c.MultiStatements = "root", "tcp", host, name, true
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), clientOrders.ReplaceAllString(read(t, file), "")); err != nil {
		t.Fatal(err)
	}
}

func loadPostgres(t *testing.T, file, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.PgConn().Exec(t.Context(), clientOrders.ReplaceAllString(read(t, file), "")).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// read returns what a compressed file holds.
func read(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// contentFile is where is told what kept data holds.
func contentFile(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return filepath.Join(filepath.Dir(file), name+".json")
}
