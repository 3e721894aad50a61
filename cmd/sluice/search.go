package main

import (
	"sluice/internal/httpapi"
	"sluice/internal/metrics"
	"sluice/internal/wiring"
)

// searchAPI and searchMetrics are nil, not a searcher that is nil, where no index of
// words is kept.
func searchAPI(svc *wiring.Service) httpapi.Searcher {
	if svc.Search == nil {
		return nil
	}
	return svc.Search
}

func searchMetrics(svc *wiring.Service) metrics.Search {
	if svc.Search == nil {
		return nil
	}
	return svc.Search
}
