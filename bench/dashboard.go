package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"time"

	"sluice/bench/report"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/web"
)

const (
	pageTarget     = 100.0 // ms until the first byte
	pageSizeTarget = 100.0 // kB
)

// dashboard measures how long people wait for each page of the dashboard, over
// loopback, in a SQLite folder with as many accounts and jobs as the lists have.
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
	l.notef("%d accounts and %d jobs in %.0f s", accounts, accounts*listJobs, time.Since(began).Seconds())
	server := httptest.NewServer(web.New(x.api, web.Options{Version: "bench", Sources: []source.Description{(&enginetest.Noop{}).Describe()}}))
	defer server.Close()
	rounds := l.size(50, 10)
	nothing, _, err := pageTimes(ctx, server.URL, func(int) string { return "/livez" }, rounds)
	if err != nil {
		return err
	}
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
		{"data", func(int) string { return "/data" }},
		{"sql", func(int) string { return "/data/sql" }},
		{"refresh", func(int) string { return "/refresh" }},
		{"dead_letters", func(int) string { return "/dead-letters" }},
		{"timers", func(int) string { return "/timers" }},
		{"system", func(int) string { return "/system" }},
		{"confirm", func(int) string { return "/confirm/retry-jobs?error=timeout" }},
	} {
		took, size, err := pageTimes(ctx, server.URL, page.path, rounds)
		if err != nil {
			return err
		}
		p95 := report.Quantile(took, 0.95)
		failed = errors.Join(failed, l.report.Add(report.Line{
			Name: "dashboard_" + page.name, Value: p95, Unit: "ms",
			Detail: fmt.Sprintf("p95 of %d pages until their first byte; p50 %.2f ms; %.1f kB at most; %d accounts, %d jobs", rounds, report.Quantile(took, 0.5), size, accounts, accounts*listJobs),
		}.Against("a request that asks no store", report.Quantile(nothing, 0.95)).Aim("< 100 ms and < 100 kB", p95 < pageTarget && size < pageSizeTarget)))
	}
	return failed
}

// pageTimes asks for pages as a browser does, and returns how long each took until its
// first byte, in ms, and the size of the largest in kB.
func pageTimes(ctx context.Context, base string, path func(i int) string, rounds int) (took []float64, largest float64, err error) {
	const warm = 3 // the first ones fill caches
	for i := range rounds + warm {
		var first time.Time
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { first = time.Now() }})
		req, err := http.NewRequestWithContext(traced, http.MethodGet, base+path(i), nil)
		if err != nil {
			return nil, 0, err
		}
		req.Header.Set("Accept", "text/html")
		began := time.Now()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, 0, err
		}
		text, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			return nil, 0, err
		}
		if res.StatusCode != http.StatusOK {
			return nil, 0, fmt.Errorf("GET %s: %s %.300s", path(i), res.Status, text)
		}
		if i >= warm {
			took = append(took, float64(first.Sub(began).Microseconds())/1000)
		}
		largest = max(largest, float64(len(text))/1000)
	}
	return took, largest, nil
}
