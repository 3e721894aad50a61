package main

import (
	"os"
	"strconv"

	"sluice/internal/cli"
	"sluice/internal/httpapi"
	"sluice/internal/metrics"
	"sluice/internal/refresh"
	"sluice/internal/sources"
	"sluice/internal/wiring"
)

// refreshOf says whose snapshots are kept: those of the sources for which there
// is what they need, such as an API key, and of those that files describe.
func refreshOf(o cli.ServiceOptions) (wiring.Refresh, error) {
	records, err := sources.OpenKeyed(o.Sources, o.Declared...)
	if err != nil || len(records) == 0 {
		return wiring.Refresh{}, err
	}
	return wiring.RefreshOf(records, o.Refreshes(refresh.Settings{WorkerID: workerID()})), nil
}

// workerID names this process to people.
func workerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + ":" + strconv.Itoa(os.Getpid())
}

// refreshMetrics and refreshAPI are nil, not a pipeline that is nil, where no
// snapshots are kept.
func refreshMetrics(svc *wiring.Service) metrics.Refreshes {
	if svc.Refreshes == nil {
		return nil
	}
	return svc.Refreshes
}

func refreshAPI(svc *wiring.Service) httpapi.Refreshes {
	if svc.Refreshes == nil {
		return nil
	}
	return svc.Refreshes
}
