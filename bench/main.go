// Command bench measures Sluice beside its peers and the raw limits of the
// machine, all in one run. It prints one JSON object per line and, in the end,
// a table on the standard error. A missed target is reported, not an error.
//
//	bench [-short] [-binary FILE] [-dir FOLDER] [-cpuprofile FILE] [NAME…]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"

	"sluice/bench/proc"
	"sluice/bench/report"
	"sluice/bench/servers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// settings are the flags.
type settings struct {
	short    bool
	packages bool
	binary   string
	dir      string
	profile  string
	scale    int
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) > 0 && args[0] == childCommand {
		return child(ctx, args[1:], out)
	}
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.BoolVar(&s.short, "short", false, "small counts: shows that everything works, the numbers mean little")
	flags.BoolVar(&s.packages, "packages", false, "print the Debian packages that are missing, and end")
	flags.StringVar(&s.binary, "binary", "bin/sluice", "the program that is measured when idle")
	flags.StringVar(&s.dir, "dir", proc.OnDisk(), "where temporary data goes; must be on a disk")
	flags.StringVar(&s.profile, "cpuprofile", "", "write a CPU profile of this process")
	flags.IntVar(&s.scale, "scale", 1, "big_repository is so many times smaller")
	flags.Usage = func() {
		fmt.Fprintf(log, "bench [FLAGS] [NAME…]\n\nbenchmarks:\n")
		for _, b := range benchmarks() {
			fmt.Fprintf(log, "  %-17s %s\n", b.name, b.about)
		}
		fmt.Fprintln(log, "\nflags:")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(benchmarks(), flags.Args())
	if err != nil {
		return err
	}
	if s.packages {
		return printPackages(out, chosen)
	}
	return measure(ctx, s, chosen, out, log)
}

// choose picks benchmarks by name, all for none.
func choose(all []benchmark, names []string) ([]benchmark, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []benchmark
	for _, name := range names {
		at := slices.IndexFunc(all, func(b benchmark) bool { return b.name == name })
		if at < 0 {
			known := make([]string, len(all))
			for i, b := range all {
				known[i] = b.name
			}
			return nil, fmt.Errorf("there is no benchmark %q; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

func printPackages(out io.Writer, chosen []benchmark) error {
	var missing []string
	for _, b := range chosen {
		for _, kind := range b.needs {
			if name := kind.Package(); name != "" && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
	}
	_, err := fmt.Fprintln(out, strings.Join(missing, " "))
	return err
}

func measure(ctx context.Context, s settings, chosen []benchmark, out, log io.Writer) (err error) {
	dir, err := os.MkdirTemp(s.dir, "sluice-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	set := servers.NewSet(dir, log)
	defer func() { err = errors.Join(err, set.Close()) }()
	stopProfile, err := startProfile(s.profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopProfile()) }()
	l := &lab{settings: s, dir: dir, servers: set, report: report.New(out), log: log}
	var failed error
	for _, b := range chosen {
		fmt.Fprintf(log, "bench: %s: %s\n", b.name, b.about)
		if err := b.run(ctx, l); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", b.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Fprintln(log)
	return errors.Join(failed, l.report.Table(log))
}

func startProfile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, nil
}
