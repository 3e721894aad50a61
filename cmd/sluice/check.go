package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sluice/internal/cli"
	"sluice/internal/sqlitedb"
)

// check examines everything the service needs, changing nothing.
func check(ctx context.Context, o cli.ServiceOptions) []cli.Finding {
	var findings []cli.Finding
	if !o.Servers.Shared() {
		findings = append(findings, checkFolder(o.DataDir), checkSpace(o.DataDir), checkDatabase(o.DataDir))
	}
	findings = append(findings, checkServers(ctx, o.Servers)...)
	findings = append(findings, checkRefresh(ctx, o.MapleStory)...)
	return append(findings, checkGitHub(ctx, o.GitHubURL))
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
		f.Detail = dir + " cannot be written"
	default:
		f.OK, f.Detail = true, dir
		if holder := sqlitedb.Holder(dir); holder != "" {
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

func checkDatabase(dir string) cli.Finding {
	f := cli.Finding{What: "database", Fix: "restore it from a backup, or move it aside to collect anew"}
	path := filepath.Join(dir, sqlitedb.FileName)
	// What is not even a folder is the folder's finding, not the database's.
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		f.OK, f.Detail = true, "none yet"
		return f
	}
	if err := sqlitedb.Verify(path); err != nil {
		f.Detail = err.Error()
		return f
	}
	f.OK, f.Detail = true, path+" is sound"
	return f
}

// checkGitHub asks for something that costs nothing.
func checkGitHub(ctx context.Context, url string) cli.Finding {
	f := cli.Finding{What: "GitHub", Fix: "check the network and --github-url"}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/rate_limit", http.NoBody)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	request.Header.Set("User-Agent", "sluice")
	began := time.Now()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	defer func() { _ = answer.Body.Close() }()
	f.OK, f.Detail = true, fmt.Sprintf("%s answers in %s", url, time.Since(began).Round(time.Millisecond))
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		if skew := time.Until(date).Abs(); skew > 5*time.Second {
			f.Detail += fmt.Sprintf("; the clocks differ by %s, which is allowed for", skew.Round(time.Second))
		}
	}
	return f
}
