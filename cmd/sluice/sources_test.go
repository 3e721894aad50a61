package main_test

import (
	"testing"

	"sluice/internal/source"
	"sluice/internal/source/github"
)

// noSources are sources for a service that only reads.
func noSources(t *testing.T) []source.Source {
	t.Helper()
	src, err := github.New(github.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return []source.Source{src}
}
