package testkit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// MariaDB returns the URL (mysql://root@127.0.0.1:PORT/NAME) of a fresh, empty
// database on a server that the tests of this process share.
func MariaDB(tb testing.TB) string {
	tb.Helper()
	server := current.use(tb, "mariadb", func() (string, error) {
		prog, err := current.mariadbProgram()
		if err != nil {
			return "", err
		}
		p, err := current.launch(prog)
		if err != nil {
			return "", err
		}
		return strconv.Itoa(p.port), nil
	})
	current.sayMariaDB(tb)
	port, err := strconv.Atoi(server)
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	name := Prefix(tb)
	if err := createDatabase(tb.Context(), port, name); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	return mariadbURL(port, name)
}

// ownDatabase is the name of the database of a server that one test has to
// itself.
const ownDatabase = "sluice"

// StartMariaDB starts a MariaDB for this test alone, with an empty database.
func StartMariaDB(tb testing.TB) *Server {
	tb.Helper()
	prog, err := current.mariadbProgram()
	if err != nil {
		current.refuse(tb, err)
	}
	server := current.serve(tb, prog, func(port int) string { return mariadbURL(port, ownDatabase) })
	current.sayMariaDB(tb)
	if err := createDatabase(tb.Context(), server.process.port, ownDatabase); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	return server
}

func mariadbURL(port int, name string) string {
	return "mysql://root@" + address(port) + "/" + name
}

// sizes keep a server small: a test's data is. The redo log is part of every
// data folder that is copied.
var sizes = []string{"--innodb-log-file-size=16M", "--innodb-buffer-pool-size=64M"}

// tmpdir keeps the temporary tables of a server beside its data: one that starts
// removes those that it finds, also another's.
func tmpdir(data string) string { return "--tmpdir=" + filepath.Dir(data) }

// asRoot is what MariaDB wants to hear before it runs as root.
func asRoot() []string {
	if os.Getuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func (k *kit) mariadbProgram() (program, error) {
	path, err := find("MariaDB", "mariadbd")
	if err != nil {
		return program{}, err
	}
	installer, err := find("MariaDB", "mariadb-install-db")
	if err != nil {
		return program{}, err
	}
	return program{
		name: "mariadb",
		path: path,
		arguments: func(data string, port int) []string {
			args := []string{
				// This one must come first.
				"--no-defaults",
				"--datadir=" + data, "--port=" + strconv.Itoa(port), "--bind-address=127.0.0.1",
				// The path of a socket must be short: it is relative to the data folder.
				"--socket=mariadb.sock", "--pid-file=mariadb.pid", "--skip-name-resolve",
				// Tests kill servers, not machines: what the kernel has is not lost.
				"--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync",
				// Chaos lets more processes live at once than the usual 151 are for.
				"--max-connections=500",
				tmpdir(data),
			}
			args = append(args, sizes...)
			return append(args, asRoot()...)
		},
		prepare: func(data string) error {
			template, err := k.template.get(func() (string, error) { return installMariaDB(path, installer) })
			if err != nil {
				return err
			}
			if err := os.CopyFS(data, os.DirFS(template)); err != nil {
				return fmt.Errorf("copy the system tables of MariaDB: %w", err)
			}
			return nil
		},
		answers: func(ctx context.Context, port int) error {
			return mariadbExec(ctx, port, "DO 1")
		},
	}, nil
}

// installMariaDB makes the data folder of a new server, with its system
// tables. That takes seconds, so that every server of every test process gets a
// copy of one; another MariaDB, or other settings, make another one.
func installMariaDB(server, installer string) (string, error) {
	tools, unlock, err := lockTools("mariadb")
	if err != nil {
		return "", err
	}
	defer unlock()
	name := fnv.New64a()
	_, _ = fmt.Fprint(name, programVersion(server), sizes, os.Getuid())
	data := filepath.Join(tools, fmt.Sprintf("mariadb-%x", name.Sum64()))
	if _, err := os.Stat(data); err == nil {
		return data, nil
	}
	folder, err := os.MkdirTemp(tools, "mariadb-new-")
	if err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	made := filepath.Join(folder, "data")
	args := []string{"--no-defaults", "--datadir=" + made, tmpdir(made), "--auth-root-authentication-method=normal", "--skip-test-db"}
	args = append(args, sizes...)
	command := exec.CommandContext(context.Background(), installer, append(args, asRoot()...)...)
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mariadb-install-db: %w:\n%s", err, out)
	}
	if err := os.Rename(made, data); err != nil {
		return "", fmt.Errorf("keep the system tables of MariaDB: %w", err)
	}
	return data, nil
}

func (k *kit) sayMariaDB(tb testing.TB) {
	tb.Helper()
	if !k.once("version of MariaDB") {
		return
	}
	path, err := find("MariaDB", "mariadbd")
	if err != nil {
		k.refuse(tb, err)
	}
	tb.Logf("MariaDB: %s", programVersion(path))
}

func createDatabase(ctx context.Context, port int, name string) error {
	if err := mariadbExec(ctx, port, "CREATE DATABASE "+name); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// mariadbExec runs a statement on a connection of its own.
func mariadbExec(ctx context.Context, port int, statement string) (err error) {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr = "root", "tcp", address(port)
	// It would write to the standard error what is returned here anyway.
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, statement)
	return err
}
