package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// mariadbSettings are what differs from the defaults. Every commit is on disk
// before it counts, which is the default and is said all the same; a million
// jobs have room in the cache.
var mariadbSettings = []string{
	"--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=512M", "--skip-name-resolve",
}

// Database returns the URL (mysql://root@127.0.0.1:PORT/NAME) of a new, empty
// database on a MariaDB server, and how to drop it.
func (s *Set) Database(ctx context.Context) (url string, drop func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.maria == "" {
		if s.maria, err = s.startMariaDB(ctx); err != nil {
			return "", nil, err
		}
	}
	s.uses++
	addr, name := s.maria, fmt.Sprintf("bench_%d", s.uses)
	if err := mariadbExec(ctx, addr, "CREATE DATABASE "+name); err != nil {
		return "", nil, err
	}
	drop = func() error { return mariadbExec(context.WithoutCancel(ctx), addr, "DROP DATABASE "+name) }
	return "mysql://root@" + addr + "/" + name, drop, nil
}

// startMariaDB starts the server and returns its address.
func (s *Set) startMariaDB(ctx context.Context) (string, error) {
	dir := filepath.Join(s.dir, "mariadb")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	if err := installMariaDB(ctx, dir, data); err != nil {
		return "", err
	}
	port, err := freePort(ctx)
	if err != nil {
		return "", err
	}
	binary, err := mariadbBinary("mariadbd")
	if err != nil {
		return "", err
	}
	args := append(mariadbArguments(data), mariadbSettings...)
	args = append(args, "--port="+port, "--bind-address=127.0.0.1",
		// The path of a socket must be short: it is relative to the data folder.
		"--socket=mariadb.sock", "--pid-file=mariadb.pid")
	cmd := exec.CommandContext(context.WithoutCancel(ctx), binary, args...)
	cmd.Env = mariadbEnvironment(dir)
	p, err := launch(MariaDB, dir, cmd, syscall.SIGTERM)
	if err != nil {
		return "", err
	}
	s.running = append(s.running, p)
	addr := net.JoinHostPort("127.0.0.1", port)
	if err := p.await(ctx, func(ctx context.Context) error { return mariadbExec(ctx, addr, "DO 1") }); err != nil {
		return "", err
	}
	fmt.Fprintf(s.log, "bench: mariadbd at %s, default settings but %v\n", addr, mariadbSettings)
	return addr, nil
}

// mariadbArguments are those that the server and its installer share.
func mariadbArguments(data string) []string {
	args := []string{"--no-defaults", "--datadir=" + data}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

// mariadbEnvironment keeps temporary tables apart from those of other servers,
// which may have the same names.
func mariadbEnvironment(dir string) []string { return append(os.Environ(), "TMPDIR="+dir) }

func installMariaDB(ctx context.Context, dir, data string) error {
	binary, err := mariadbBinary("mariadb-install-db")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, binary, append(mariadbArguments(data), "--auth-root-authentication-method=normal", "--skip-test-db")...)
	cmd.Dir, cmd.Env = dir, mariadbEnvironment(dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w\n%s", err, out)
	}
	return nil
}

// mariadbBinary finds a program in the path, or where Debian puts those of
// administrators.
func mariadbBinary(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	path := filepath.Join("/usr/sbin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not installed", name)
	}
	return path, nil
}

// OpenDatabase opens the MariaDB server at an address.
func OpenDatabase(addr string) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr = "root", "tcp", addr
	// It would write to the standard error what is returned anyway.
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// mariadbExec runs a statement on a connection of its own.
func mariadbExec(ctx context.Context, addr, statement string) (err error) {
	db, err := OpenDatabase(addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, statement)
	return err
}
