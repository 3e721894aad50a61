package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"sluice/internal/backend/sqlite"
	"sluice/internal/backup"
	"sluice/internal/cli"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/secret"
	"sluice/internal/source"
	"sluice/internal/sources"
)

// check examines everything the service needs, changing nothing.
func check(ctx context.Context, o cli.ServiceOptions) []cli.Finding {
	var findings []cli.Finding
	if !o.Servers.Shared() {
		findings = append(findings, checkFolder(o.Service.DataDir), checkSpace(o.Service.DataDir), checkDatabase(ctx, o.Service.DataDir, keyFile(o.Config)))
	}
	findings = append(findings, checkServers(ctx, o.Servers)...)
	findings = append(findings, checkRefresh(ctx, o.Config)...)
	findings = append(findings, checkAccess(o.Config)...)
	for _, r := range sources.All() {
		if r.Walks != nil && r.Probe != nil {
			findings = append(findings, checkSource(ctx, r, o.Sources))
		}
	}
	return findings
}

// mayEnterAndWrite is W_OK|X_OK of access(2).
const mayEnterAndWrite = 0x2 | 0x1

func checkFolder(dir string) cli.Finding {
	f := cli.Finding{What: "data folder", Fix: "create it, make it writable, or give another with --data-dir"}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.OK, f.Detail = true, dir+" does not exist yet; it is created at the first start"
	case err != nil:
		f.Detail = err.Error()
	case !info.IsDir():
		f.Detail = dir + " is not a folder"
	case syscall.Access(dir, mayEnterAndWrite) != nil:
		f.Detail, f.Fix = dir+" cannot be written", "run it as the user that it belongs to"+ownerOf(dir)+", make it writable, or give another with --data-dir"
	default:
		f.OK, f.Detail = true, dir
		if exposed := sqlite.Exposed(dir); len(exposed) > 0 {
			f.Warn("others can read what was collected and the sealed credentials: " + chmod(exposed))
		}
		if holder := sqlite.Holder(dir); holder != "" {
			f.Detail += ", in use by " + holder
		}
	}
	return f
}

// lowSpace is what a collection should find free at least.
const lowSpace = 256 << 20

func checkSpace(dir string) cli.Finding {
	f := cli.Finding{What: "disk space", Fix: "free some space or move the data folder"}
	for ; ; dir = filepath.Dir(dir) {
		var stat syscall.Statfs_t
		err := syscall.Statfs(dir, &stat)
		if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
			continue
		}
		if err != nil {
			f.Detail = err.Error()
			return f
		}
		free := stat.Bavail * uint64(stat.Bsize)
		f.OK, f.Detail = free > lowSpace, fmt.Sprintf("%d MiB free", free>>20)
		return f
	}
}

func checkDatabase(ctx context.Context, dir, key string) cli.Finding {
	f := cli.Finding{What: "database", Fix: "restore it from a backup, or move it away and collect again"}
	path := filepath.Join(dir, sqlite.FileName)
	if err := backup.NotBeingRestored(dir); err != nil {
		f.Detail, f.Fix = err.Error(), "repeat the restore with --force"
		return f
	}
	// What is not even a folder is the folder's finding, not the database's.
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		f.OK, f.Detail = true, "none yet"
		return f
	}
	if err == nil {
		err = syscall.Access(path, mayReadAndWrite)
	}
	if err != nil {
		f.Detail, f.Fix = path+" cannot be looked at: "+err.Error(), "run doctor as the user that the service runs as"+ownerOf(dir)+", or give this one the right to read and write it"
		return f
	}
	if err := sqlite.Verify(ctx, path); err != nil {
		f.Detail = err.Error()
		if domain.CodeOf(err) != domain.CodeCorrupt {
			f.Fix = "run doctor as the user that the service runs as" + ownerOf(dir) + ", and see what its disk says"
		}
		return f
	}
	if err := sqlite.CheckVersion(path); err != nil {
		f.Detail, f.Fix = err.Error(), "use the version of the program that migrated it, or a newer one"
		return f
	}
	if why, fix := keyTrouble(path, key); why != "" {
		f.Detail, f.Fix = why, fix
		return f
	}
	f.OK, f.Detail = true, path+" is sound"
	return f
}

// mayReadAndWrite is R_OK|W_OK of access(2).
const mayReadAndWrite = 0x4 | 0x2

// ownerOf names whose a folder is, if that can be told.
func ownerOf(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	id := strconv.Itoa(int(stat.Uid))
	if u, err := user.LookupId(id); err == nil {
		return " (" + u.Username + ")"
	}
	return " (uid " + id + ")"
}

// keyFile is where the key of a service lies.
func keyFile(c config.Config) string {
	if c.Servers.KeyFile != "" {
		return c.Servers.KeyFile
	}
	return filepath.Join(c.Service.DataDir, secret.FileName)
}

// keyTrouble says what of a database's credentials the key file does not open, and
// what to do; "" if all is well.
func keyTrouble(database, key string) (why, fix string) {
	needed, err := sqlite.SealingKeys(database)
	if err != nil {
		return err.Error(), "see what its disk says"
	}
	has, err := secret.KeyIDs(key)
	if domain.CodeOf(err) == domain.CodeNotFound && len(needed) == 0 {
		return "", ""
	}
	missing := slices.DeleteFunc(slices.Clone(needed), func(id string) bool { return slices.Contains(has, id) })
	const renew = "make a new one (`openssl rand -hex 32`) and renew every token with `sluice account set LOGIN --token-file FILE`"
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		return fmt.Sprintf("%s is sound, but its key file %s is missing; credentials are sealed with key %s", database, key, strings.Join(needed, ", ")),
			"put " + key + " back from where you keep it, or " + renew
	case err != nil:
		return fmt.Sprintf("%s is sound, but %v", database, err), "put the right file at " + key + ", or " + renew
	case len(missing) > 0:
		return fmt.Sprintf("%s is sound, but credentials are sealed with key %s, and %s has %s", database, strings.Join(missing, ", "), key, strings.Join(has, ", ")),
			"put the key file of these data at " + key + ", or add its key to it as a line of its own; if it is lost, renew those tokens with `sluice account set LOGIN --token-file FILE`"
	}
	return "", ""
}

// checkSource asks the upstream of a source for something that costs nothing.
func checkSource(ctx context.Context, r source.Registration, set source.Settings) cli.Finding {
	f := cli.Finding{What: r.Title, Fix: r.Fix}
	detail, err := r.Probe(ctx, set)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	f.OK, f.Detail = true, detail
	return f
}
