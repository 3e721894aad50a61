package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the URL of a PostgreSQL server in its default
// configuration, every commit with an fsync, and without a database name.
func (s *Set) Postgres(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pg != "" {
		return s.pg, nil
	}
	dir := filepath.Join(s.dir, "postgres")
	credential, err := postgresFolder(dir)
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	if err := initdb(ctx, data, credential); err != nil {
		return "", err
	}
	port, err := freePort(ctx)
	if err != nil {
		return "", err
	}
	binary, err := postgresBinary("postgres")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), binary, "-D", data, "-p", port, "-h", "127.0.0.1", "-k", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	// SIGINT is PostgreSQL's fast shutdown.
	p, err := launch(Postgres, dir, cmd, syscall.SIGINT)
	if err != nil {
		return "", err
	}
	s.running = append(s.running, p)
	url := "postgres://postgres@127.0.0.1:" + port
	if err := p.await(ctx, func(ctx context.Context) error { return connects(ctx, url) }); err != nil {
		return "", err
	}
	s.pg = url
	fmt.Fprintf(s.log, "bench: postgres at %s, default settings (fsync on, synchronous_commit on)\n", url)
	return url, nil
}

func connects(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url+"/postgres?sslmode=disable")
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// postgresBinary finds a program of the newest PostgreSQL, in the path or
// where Debian puts it.
func postgresBinary(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		return "", errors.Join(fmt.Errorf("%s is not installed", name), err)
	}
	slices.Sort(found)
	return found[len(found)-1], nil
}

// postgresFolder makes the server's folder. PostgreSQL refuses to run as root;
// then the folder and the server belong to the user postgres.
func postgresFolder(dir string) (*syscall.Credential, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // no other user is needed
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("postgres does not run as root: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	// The user must be able to pass through the folder above.
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}

func initdb(ctx context.Context, data string, credential *syscall.Credential) error {
	binary, err := postgresBinary("initdb")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, binary, "-D", data, "-U", "postgres", "-A", "trust", "--locale=C", "--encoding=UTF8")
	cmd.Dir = filepath.Dir(data)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}
