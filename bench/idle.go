package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sluice/bench/proc"
	"sluice/bench/report"
)

// settle is how long everybody may tidy up after its start.
const settle = 5 * time.Second

// idle measures the real program while it has nothing to do, and peers and a
// Go program that only waits during the same time.
func idle(ctx context.Context, l *lab) error {
	all, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, _, err := l.folder("up")
	if err != nil {
		return err
	}
	up, err := l.startUp(all, "--data-dir", dir)
	if err != nil {
		return err
	}
	others, err := l.startIdlers(all)
	if err != nil {
		return errors.Join(err, up.stop())
	}
	figures, err := l.watchIdle(ctx, up, others)
	err = errors.Join(err, up.stop())
	cancel()
	for _, o := range others {
		err = errors.Join(err, o.wait())
	}
	if err != nil {
		return err
	}
	return l.reportIdle(figures)
}

// idleFigures is what happened while everybody had nothing to do.
type idleFigures struct {
	span time.Duration
	sql  float64
	// The program is the first of all, then come the others.
	names []string
	used  []proc.Usage
	// awake counts the slices of time in which any thread of it was woken.
	awake []int
}

func (l *lab) watchIdle(ctx context.Context, up *service, others []*idler) (f idleFigures, err error) {
	if err := pause(ctx, settle); err != nil {
		return f, err
	}
	// A scrape reads the database itself; two in a row tell how much.
	first, err := up.sql(ctx)
	if err != nil {
		return f, err
	}
	second, err := up.sql(ctx)
	if err != nil {
		return f, err
	}
	if err := pause(ctx, settle); err != nil {
		return f, err
	}
	pids, names := []int{up.cmd.Process.Pid}, []string{"sluice up"}
	for _, o := range others {
		pids, names = append(pids, o.cmd.Process.Pid), append(names, o.name)
	}
	if f, err = observe(ctx, pids, time.Duration(l.size(60, 10))*time.Second); err != nil {
		return f, err
	}
	f.names = names
	third, err := up.sql(ctx)
	f.sql = third - second - (second - first)
	return f, err
}

// slice is how finely wake-ups are told apart. After each, the Go runtime's
// monitor looks around a few times more before it sleeps as well; this is no
// wake-up of its own, and over within a slice or two.
const slice = 100 * time.Millisecond

// observe reads the processes slice by slice.
func observe(ctx context.Context, pids []int, span time.Duration) (f idleFigures, err error) {
	first, err := readAll(pids)
	if err != nil {
		return f, err
	}
	f.awake = make([]int, len(pids))
	last, began := first, time.Now()
	for f.span < span {
		if err := pause(ctx, slice); err != nil {
			return f, err
		}
		now, err := readAll(pids)
		if err != nil {
			return f, err
		}
		for i := range pids {
			if now[i].Voluntary > last[i].Voluntary {
				f.awake[i]++
			}
		}
		last, f.span = now, time.Since(began)
	}
	for i := range pids {
		f.used = append(f.used, last[i].Sub(first[i]))
	}
	return f, nil
}

func (l *lab) reportIdle(f idleFigures) error {
	share := func(u proc.Usage) float64 { return 100 * u.Run.Seconds() / f.span.Seconds() }
	ours := f.used[0]
	cpu := report.Line{
		Name: "idle_cpu", Value: share(ours), Unit: "% of a core",
		Detail: fmt.Sprintf("%s by the scheduler over %.0f s; %d ticks of 10 ms in /proc/PID/stat", ours.Run, f.span.Seconds(), ours.Ticks),
	}
	sql := report.Line{
		Name: "idle_sql", Value: f.sql, Unit: "transactions",
		Detail: "read and write transactions, without the one that the scrape itself makes",
	}
	woken := report.Line{
		Name: "idle_wakeups", Value: float64(f.awake[0]), Unit: "slices",
		Detail: fmt.Sprintf("of %s in which any thread was woken; %d voluntary context switches in all", slice, ours.Voluntary),
	}
	err := errors.Join(
		l.report.Add(cpu.Aim("< 0.1 %", cpu.Value < 0.1)), l.report.Add(sql.Aim("0", f.sql == 0)),
		l.report.Add(woken.Aim("< 10", f.awake[0] < 10)),
	)
	for i := 1; i < len(f.names); i++ {
		cpu.Detail, woken.Detail = "", fmt.Sprintf("the peer's context switches: %d", f.used[i].Voluntary)
		err = errors.Join(err,
			l.report.Add(cpu.Against(f.names[i], share(f.used[i]))),
			l.report.Add(woken.Against(f.names[i], float64(f.awake[i]))))
	}
	return err
}

func readAll(pids []int) ([]proc.Usage, error) {
	out := make([]proc.Usage, len(pids))
	for i, pid := range pids {
		var err error
		if out[i], err = proc.Read(pid); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (l *lab) startIdlers(ctx context.Context) ([]*idler, error) {
	redis, err := l.servers.Redis(ctx)
	if err != nil {
		return nil, err
	}
	postgres, err := l.servers.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	files, _, err := l.folder("river-idle")
	if err != nil {
		return nil, err
	}
	var out []*idler
	for _, o := range []struct{ name, task, argument string }{
		{"a Go program that only waits", "idle-nothing", "-"},
		{"asynq on Redis", "idle-asynq", redis},
		{"River on SQLite", "idle-river-sqlite", files},
		{"River on PostgreSQL", "idle-river-postgres", postgres},
	} {
		started, err := startIdler(ctx, o.name, o.task, o.argument)
		if err != nil {
			return out, err
		}
		out = append(out, started)
	}
	return out, nil
}

// service is the real program with nothing to do.
type service struct {
	cmd *exec.Cmd
	url string
}

var served = regexp.MustCompile(`(http://[^\s/]+)/api/v1`)

// startUp starts the program and waits until it serves.
func (l *lab) startUp(ctx context.Context, flags ...string) (*service, error) {
	binary, err := filepath.Abs(l.binary)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, append([]string{"up", "--addr", "127.0.0.1:0"}, flags...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	output, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s (make build makes it): %w", binary, err)
	}
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("sluice up did not start: %w", errors.Join(err, cmd.Wait()))
		}
		if m := served.FindStringSubmatch(line); m != nil {
			go func() { _, _ = io.Copy(io.Discard, lines) }() // lets it write on
			return &service{cmd, m[1]}, nil
		}
	}
}

func (s *service) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := s.cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("sluice up: %w", err)
	}
	return nil
}

// sql scrapes how many transactions the database has seen. The connection is
// closed, so that nothing of it is left while the program idles.
func (s *service) sql(ctx context.Context) (_ float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	reads, err := metric(string(text), "sluice_sql_reads_total")
	if err != nil {
		return 0, err
	}
	writes, err := metric(string(text), "sluice_sql_transactions_total")
	return reads + writes, err
}

// metric finds a value without labels in a scrape.
func metric(scrape, name string) (float64, error) {
	for line := range strings.Lines(scrape) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("the scrape has no %s", name)
}

// pause waits, or returns the error of a context that ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
