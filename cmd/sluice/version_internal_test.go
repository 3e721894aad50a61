package main

import "testing"

// TestReleaseIsNamed: what a release is stamped with is what the program says.
func TestReleaseIsNamed(t *testing.T) {
	if built := build(); built.Version == "" || built.Version == "1.2.3" {
		t.Errorf("a build that is no release says %+v", built)
	}
	releaseVersion, releaseCommit, releaseDate = "1.2.3", "abc", "2026-01-02T03:04:05Z"
	t.Cleanup(func() { releaseVersion, releaseCommit, releaseDate = "", "", "" })
	if built := build(); built.Version != "1.2.3" || built.Commit != "abc" || built.Built != "2026-01-02T03:04:05Z" || version() != "1.2.3" {
		t.Errorf("the release says %+v", built)
	}
}
