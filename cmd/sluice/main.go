// Command sluice keeps a complete, fresh, local copy of data that lives behind
// an API which rations its calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
	_ "time/tzdata" // schedules name time zones, and an image has no files of them

	"sluice/internal/backend/sqlite"
	"sluice/internal/cli"
	"sluice/internal/config"
	"sluice/internal/query"
	"sluice/internal/sources"
)

func main() {
	app := &cli.App{
		In:  os.Stdin,
		Out: os.Stdout, Err: os.Stderr, Env: os.LookupEnv, Environ: os.Environ, Now: time.Now, Execute: cli.Execute,
		Open: open, Load: openLoad, Check: check, Holder: sqlite.Holder, HasData: hasData, Ask: ask, CheckLogin: sources.CheckLogin,
		Version: version(), Build: build(), Keep: keeper(), DefaultFiles: config.DefaultFiles(os.LookupEnv),
	}
	os.Exit(app.Run(untilSignal(), os.Args[1:]))
}

// untilSignal returns a context that ends with the first signal, so that what
// runs can finish; a second signal ends the process at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		fmt.Fprintln(os.Stderr, "sluice: finishing the calls under way; interrupt again to stop at once")
		cancel()
		<-signals
		os.Exit(130)
	}()
	return ctx
}

// ask answers SQL on the embedded database of a folder.
func ask(dir string) query.Store { return sqlite.NewQueries(dir) }

// hasData says whether a data folder holds the embedded database.
func hasData(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, sqlite.FileName))
	return !errors.Is(err, fs.ErrNotExist)
}
