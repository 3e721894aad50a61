// Command ferretdb is a server of MongoDB's protocol for tests, on machines
// that have no mongod: FerretDB with its data in SQLite files. It is a program
// of its own, in a module of its own, so that tests can kill it and start it
// again with its data, and so that the product does not depend on it.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	address := flag.String("listen", "", "host:port to listen on")
	folder := flag.String("data", "", "folder for the data")
	flag.Parse()
	if err := serve(*address, *folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve answers until it is asked to stop.
func serve(address, folder string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	path, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("find the data folder: %w", err)
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Handler:  "sqlite",
		// Tests kill servers, not machines: what the kernel has is not lost.
		SQLiteURL: "file:" + path + "/?_pragma=synchronous(off)",
	})
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	behind, err := url.Parse(server.MongoDBURI())
	if err != nil {
		return fmt.Errorf("find the server: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	front := &gate{behind: behind.Host}
	front.accept(listener)
	return <-ended
}
