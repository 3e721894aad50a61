package refresh

import "sluice/internal/source"

// What a source of records answers to a call; see source.Records.
type (
	// Fetched is the meaning of one answer.
	Fetched = source.Fetched
	// Fetcher asks an upstream for one entity, with exactly one call.
	Fetcher = source.Fetcher
)

// The verdicts.
const (
	FetchDone  = source.FetchDone
	FetchRetry = source.FetchRetry
	FetchWait  = source.FetchWait
	FetchDead  = source.FetchDead
)
