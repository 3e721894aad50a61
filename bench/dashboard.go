package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"syscall"
	"time"

	"sluice/bench/report"
	"sluice/internal/web"
)

const (
	pageTarget     = 100.0 // ms until the first byte
	pageSizeTarget = 100.0 // kB
)

// dashboard measures how long people wait for each page of the dashboard, over
// loopback, in a SQLite folder with as many accounts, jobs and documents as the lists
// have.
func dashboard(ctx context.Context, l *lab) error {
	// A tenth shows whether a page reads more than it shows.
	accounts := l.size(listAccounts, listAccounts/10)
	x, err := listingEmbedded(ctx, l)
	if err != nil {
		return err
	}
	defer x.close()
	began := time.Now()
	if err := x.fill(ctx, accounts); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	documents := accounts * listJobs
	words, err := embeddedWords(x.conn)
	if err != nil {
		return err
	}
	if err := (&documentShelf{name: x.name, exec: x.exec, words: words}).fill(ctx, documents); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	l.notef("%d accounts, %d jobs and %d documents in %.0f s", accounts, accounts*listJobs, documents, time.Since(began).Seconds())
	server := httptest.NewServer(web.New(x.api, web.Options{Version: "bench", Sources: listedSources()}))
	defer server.Close()
	rounds := l.size(50, 10)
	var failed error
	for _, page := range []struct {
		name string
		path func(i int) string
	}{
		{"overview", func(int) string { return "/" }},
		{"accounts", func(int) string { return "/accounts" }},
		{"accounts_later", func(i int) string { return fmt.Sprintf("/accounts?cursor=%d", 1+i*97%accounts) }},
		{"account", func(i int) string { return fmt.Sprintf("/accounts/%d", 1+i*97%accounts) }},
		{"runs", func(int) string { return "/runs" }},
		{"runs_failed", func(int) string { return "/runs?status=FAILED" }},
		{"run", func(i int) string { return fmt.Sprintf("/runs/%d", 1+i*97%accounts) }},
		{"run_active", func(i int) string { return fmt.Sprintf("/runs/%d", 1+i*200%accounts) }},
		{"jobs", func(int) string { return "/jobs" }},
		{"jobs_failed", func(int) string { return "/jobs?status=FAILED&error=timeout" }},
		{"job", func(i int) string { return fmt.Sprintf("/jobs/%d", 1+i*7919%(accounts*listJobs)) }},
		{"data", func(int) string { return "/data?kind=issues" }},
		{"data_newest", func(int) string { return "/data?kind=commits&sort=-created" }},
		{"data_author", func(i int) string { return fmt.Sprintf("/data?kind=issues&author=author-%d&sort=-updated", i*31%2000) }},
		{"data_label", func(i int) string { return fmt.Sprintf("/data?kind=issues&state=open&label=label-%d", 1+2*(i%25)) }},
		{"document", func(i int) string { return fmt.Sprintf("/data/issues/%d?account=1", 1_000_001+i*2%1000) }},
		{"sql", func(int) string { return "/data/sql" }},
		{"refresh", func(int) string { return "/refresh" }},
		{"dead_letters", func(int) string { return "/dead-letters" }},
		{"timers", func(int) string { return "/timers" }},
		{"system", func(int) string { return "/system" }},
		{"confirm", func(int) string { return "/confirm/retry-jobs?error=timeout" }},
	} {
		m, err := pageTimes(ctx, server.URL, page.path, rounds)
		if err != nil {
			return err
		}
		p95 := report.Quantile(m.took, 0.95)
		failed = errors.Join(failed, l.report.Add(report.Line{
			Name: "dashboard_" + page.name, Value: p95, Unit: "ms",
			Detail: fmt.Sprintf("p95 of %d pages until their first byte; p50 %.2f ms, of which %.2f ms are spent by processors; %.1f kB at most; %d accounts, %d jobs, %d documents",
				rounds, report.Quantile(m.took, 0.5), m.spent, m.largest, accounts, accounts*listJobs, documents),
		}.Against("the page for logging in, in turn with it", report.Quantile(m.beside, 0.95)).Aim("< 100 ms and < 100 kB", p95 < pageTarget && m.largest < pageSizeTarget)))
	}
	return failed
}

// pageMeasure is what pages took until their first byte, and those of the page for
// logging in that were asked for in turn with them, in ms; what processors spent on one
// at the median, in ms, with all that the process did meanwhile; and the size of the
// largest in kB.
type pageMeasure struct {
	took, beside   []float64
	spent, largest float64
}

// pageTimes asks for pages as a browser does, each beside one that asks no store: what
// others take of the processors, they take of both.
func pageTimes(ctx context.Context, base string, path func(i int) string, rounds int) (m pageMeasure, err error) {
	const warm = 3 // the first ones fill caches
	var spent []float64
	for i := range rounds + warm {
		trivial, _, err := pageTime(ctx, base+"/login")
		if err != nil {
			return m, err
		}
		began := processorTime()
		took, size, err := pageTime(ctx, base+path(i))
		if err != nil {
			return m, err
		}
		if i >= warm {
			m.took, m.beside, spent = append(m.took, took), append(m.beside, trivial), append(spent, processorTime()-began)
		}
		m.largest = max(m.largest, size)
	}
	m.spent = report.Quantile(spent, 0.5)
	return m, nil
}

// processorTime is what this process has spent, in ms.
func processorTime() float64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e6
}

// pageTime asks for a page: how long it took until its first byte in ms, and its size in
// kB.
func pageTime(ctx context.Context, address string) (took, size float64, err error) {
	var first time.Time
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { first = time.Now() }})
	req, err := http.NewRequestWithContext(traced, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Accept", "text/html")
	began := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, err
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return 0, 0, err
	}
	_, refused, wrong := bytes.Cut(text, []byte(`class="flash bad"`))
	if res.StatusCode != http.StatusOK || wrong {
		return 0, 0, fmt.Errorf("GET %s: %s %.300s", address, res.Status, refused)
	}
	return float64(first.Sub(began).Microseconds()) / 1000, float64(len(text)) / 1000, nil
}
