package testkit

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the URL (postgres://sluice@127.0.0.1:PORT/NAME) of a fresh,
// empty database on a server that the tests of this process share.
func Postgres(tb testing.TB) string {
	tb.Helper()
	server := current.use(tb, "postgres", func() (string, error) {
		prog, err := current.postgresProgram()
		if err != nil {
			return "", err
		}
		p, err := current.launch(prog)
		if err != nil {
			return "", err
		}
		return strconv.Itoa(p.port), nil
	})
	current.sayPostgres(tb)
	port, err := strconv.Atoi(server)
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	name := Prefix(tb)
	if err := createPostgresDatabase(tb.Context(), port, name); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	return postgresURL(port, name)
}

// StartPostgres starts a PostgreSQL for this test alone, with an empty database.
func StartPostgres(tb testing.TB) *Server {
	tb.Helper()
	prog, err := current.postgresProgram()
	if err != nil {
		current.refuse(tb, err)
	}
	server := current.serve(tb, prog, func(port int) string { return postgresURL(port, ownDatabase) })
	current.sayPostgres(tb)
	if err := createPostgresDatabase(tb.Context(), server.process.port, ownDatabase); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	return server
}

// postgresUser is who owns the databases of the tests.
const postgresUser = "sluice"

func postgresURL(port int, name string) string {
	return "postgres://" + postgresUser + "@" + address(port) + "/" + name + "?sslmode=disable"
}

// findPostgres finds a program of PostgreSQL: on PATH, or where Debian keeps
// it, the newest version first.
func findPostgres(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	paths, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(paths) == 0 {
		return "", &missingError{"PostgreSQL", "there is no " + name + " on PATH or in /usr/lib/postgresql; run scripts/test-servers as root, or install it"}
	}
	version := func(path string) int {
		// What is no number is older than any.
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	return slices.MaxFunc(paths, func(a, b string) int { return version(a) - version(b) }), nil
}

func (k *kit) postgresProgram() (program, error) {
	path, err := findPostgres("postgres")
	if err != nil {
		return program{}, err
	}
	installer, err := findPostgres("initdb")
	if err != nil {
		return program{}, err
	}
	user, err := serverUser()
	if err != nil {
		return program{}, err
	}
	return program{
		name:       "postgres",
		path:       path,
		user:       user,
		family:     true,
		stopSignal: syscall.SIGINT, // SIGTERM would wait until all clients have gone
		arguments:  postgresArguments,
		prepare: func(data string) error {
			template, err := k.postgresTemplate.get(func() (string, error) { return k.installPostgres(path, installer, user) })
			if err != nil {
				return err
			}
			if err := os.CopyFS(data, os.DirFS(template)); err != nil {
				return fmt.Errorf("copy the system tables of PostgreSQL: %w", err)
			}
			return user.own(filepath.Dir(data))
		},
		answers: func(ctx context.Context, port int) error {
			return postgresExec(ctx, port, "SELECT 1")
		},
		leave: freeSharedMemory,
	}, nil
}

func postgresArguments(data string, port int) []string {
	args := []string{"-D", data, "-p", strconv.Itoa(port)}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=" + data,
		// Tests kill servers, not machines: what the kernel has is not lost. It
		// gets what is committed (synchronous_commit), and need not hurry with it.
		"fsync=off", "synchronous_commit=on", "full_page_writes=off",
		// A test's data is small, and folders of it go with the data folder.
		"shared_buffers=32MB", "dynamic_shared_memory_type=mmap", "max_wal_size=64MB", "min_wal_size=4MB",
		"max_connections=200", "max_parallel_workers_per_gather=0", "jit=off",
		"timezone=UTC", "log_timezone=UTC", "lc_messages=C",
		// Failures are told to whoever asked; the log is for the server's own.
		"log_min_messages=warning", "log_min_error_statement=panic",
	} {
		args = append(args, "-c", setting)
	}
	return args
}

// installPostgres makes the data folder of a new server, with its system
// tables; every server of every test process gets a copy of it. It is made in
// the tests' folder, as the user that it belongs to need not be able to read
// the repository.
func (k *kit) installPostgres(server, installer string, user *account) (string, error) {
	tools, unlock, err := lockTools("postgres")
	if err != nil {
		return "", err
	}
	defer unlock()
	args := []string{
		"--username=" + postgresUser, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions", "--wal-segsize=1",
	}
	name := fnv.New64a()
	_, _ = fmt.Fprint(name, programVersion(server), args, os.Getuid())
	data := filepath.Join(tools, fmt.Sprintf("postgres-%x", name.Sum64()))
	if _, err := os.Stat(data); err == nil {
		return data, nil
	}
	work, err := k.open()
	if err != nil {
		return "", err
	}
	folder, err := work.folder("initdb")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := user.own(folder); err != nil {
		return "", err
	}
	made := filepath.Join(folder, "data")
	command := exec.CommandContext(context.Background(), installer, append(args, "--pgdata="+made)...)
	command.Dir = folder
	user.run(command)
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w:\n%s", err, out)
	}
	copied, err := os.MkdirTemp(tools, "postgres-new-")
	if err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(copied) }()
	if err := os.CopyFS(copied, os.DirFS(made)); err != nil {
		return "", fmt.Errorf("copy the system tables of PostgreSQL: %w", err)
	}
	if err := os.Rename(copied, data); err != nil {
		return "", fmt.Errorf("keep the system tables of PostgreSQL: %w", err)
	}
	return data, nil
}

func (k *kit) sayPostgres(tb testing.TB) {
	tb.Helper()
	if !k.once("version of PostgreSQL") {
		return
	}
	path, err := findPostgres("postgres")
	if err != nil {
		k.refuse(tb, err)
	}
	tb.Logf("PostgreSQL: %s", strings.TrimPrefix(programVersion(path), "postgres (PostgreSQL) "))
}

func createPostgresDatabase(ctx context.Context, port int, name string) error {
	if err := postgresExec(ctx, port, "CREATE DATABASE "+name); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// postgresExec runs a statement on a connection of its own.
func postgresExec(ctx context.Context, port int, statement string) (err error) {
	conn, err := pgx.Connect(ctx, postgresURL(port, "postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	_, err = conn.Exec(ctx, statement)
	return err
}
