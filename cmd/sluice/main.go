// Command sluice keeps a complete, fresh, local copy of data that lives behind
// an API which rations its calls.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
	_ "time/tzdata" // schedules name time zones, and an image has no files of them

	"sluice/internal/cli"
	"sluice/internal/sqlitedb"
)

func main() {
	app := &cli.App{
		Out: os.Stdout, Err: os.Stderr, Env: os.LookupEnv, Now: time.Now,
		Open: open, Load: openLoad, Check: check, Holder: sqlitedb.Holder, CheckLogin: checkLogin, Version: version(),
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
		fmt.Fprintln(os.Stderr, "sluice: finishing the calls under way; once more to stop at once")
		cancel()
		<-signals
		os.Exit(130)
	}()
	return ctx
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
