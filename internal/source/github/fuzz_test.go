package github

import (
	"encoding/json"
	"net/http"
	"testing"

	"sluice/internal/source"
)

var fuzzJobs = []string{UserProfile, UserEvents, DiscoverReposPushed, DiscoverReposUpdated, CommitStats, RepoPulls, RepoCommits, SweepCommits, CommitDetail, RepoIssues}

// FuzzBodies feeds bodies to every reader. Whatever comes, a result is complete
// or a failure, and no document lacks what identifies it.
func FuzzBodies(f *testing.F) {
	for i, seed := range []string{
		`{"id":1,"login":"octo","updated_at":"2026-01-01T00:00:00Z"}`,
		`[{"id":"1","type":"PushEvent","actor":{"login":"octo"},"repo":{"id":1,"name":"octo/x"},"created_at":"2026-01-01T00:00:00Z"}]`,
		`{"data":{"user":{"id":"U","repositories":{"totalCount":1,"pageInfo":{"hasNextPage":true,"endCursor":"x"},"nodes":[{"id":"R","databaseId":1,"nameWithOwner":"octo/x","defaultBranchRef":{"name":"main"},"pushedAt":"2026-01-01T00:00:00Z"}]}}}}`,
		`{"data":{"user":{"repositories":{"pageInfo":{},"nodes":[null,{"id":"R","databaseId":1,"nameWithOwner":"octo/x","issues":{"totalCount":3,"nodes":[{"updatedAt":"2026-01-01T00:00:00Z"}]},"pullRequests":{"totalCount":7}}]}}},"errors":[{"type":"FORBIDDEN","path":["user","repositories","nodes",0]}]}`,
		`{"data":{"node":{"defaultBranchRef":{"target":{"history":{"totalCount":1,"pageInfo":{"hasNextPage":false},"nodes":[{"oid":"a","committedDate":"2026-01-01T00:00:00Z","additions":1}]}}}},"rateLimit":{"cost":1,"limit":1,"remaining":1,"resetAt":"2026-01-01T00:00:00Z"}}}`,
		`{"data":{"node":{"pullRequests":{"pageInfo":{},"nodes":[` + pullJSON(1) + `]}}}}`,
		`[{"sha":"a","commit":{"message":"x\ny","committer":{"date":"2026-01-01T00:00:00Z"}},"author":null}]`,
		`{"sha":"a","commit":{"committer":{"date":"2026-01-01T00:00:00Z"}},"stats":{"additions":1},"files":[{"patch":"x"}]}`,
		`[{"id":1,"number":1,"state":"open"},{"id":2,"node_id":"PR","pull_request":{}}]`,
		`<html>`, `[`, `null`, `[[[]]]`, `{"data":null,"errors":[{"type":"RATE_LIMITED"}]}`, `[null]`, `[{"id":"\ud800"}]`, `{"message":"x","block":{}}`,
	} {
		f.Add(i%len(fuzzJobs), 200, []byte(seed))
		f.Add(i%len(fuzzJobs), 403, []byte(seed))
	}
	src, err := New(Options{MaxPayload: 200})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, job, status int, body []byte) {
		spec := jobOf(fuzzJobs[uint(job)%uint(len(fuzzJobs))])
		op, _ := operationFor(spec)
		p, err := parseParams(spec.Params)
		if err != nil {
			t.Fatal(err)
		}
		c := src.newCall(callOf(spec), p)
		a := &answer{status: status, header: http.Header{}, body: body, date: testNow}
		c.settleAnchor(a)
		checkComplete(t, src.understand(c, op, a))
	})
}

func checkComplete(t *testing.T, res source.Result) {
	t.Helper()
	if res.Verdict < source.Done || res.Verdict > source.PauseAccount {
		t.Fatalf("verdict %d", res.Verdict)
	}
	if (res.Verdict == source.Done) != (res.Failure == nil) {
		t.Fatalf("verdict %d with failure %v", res.Verdict, res.Failure)
	}
	if res.Verdict != source.Done && len(res.Documents)+len(res.Next)+len(res.Cursors) > 0 {
		t.Fatalf("a failure with effects: %+v", res)
	}
	for _, doc := range res.Documents {
		if doc.Name == "" || doc.Kind == "" || doc.Account != testAccount {
			t.Fatalf("a document without identity: %+v", doc)
		}
		if !json.Valid(doc.Raw) || (len(doc.Raw) > 200 && !doc.Deleted) {
			t.Fatalf("payload of %d bytes: %s", len(doc.Raw), doc.Raw)
		}
	}
	for _, next := range res.Next {
		if next.Type == "" || next.Resource == "" || next.Bucket == "" {
			t.Fatalf("a job without name: %+v", next)
		}
	}
}

// FuzzLinkHeader looks for headers that break the reader.
func FuzzLinkHeader(f *testing.F) {
	f.Add(`<https://h/r?page=2>; rel="next", <https://h/r?page=9>; rel="last"`)
	f.Add(`<>; rel=next`)
	f.Add(`<a>;;rel="next last";,<`)
	f.Fuzz(func(t *testing.T, header string) {
		if n := pageNumber(linkRel(header, "last")); n < 0 {
			t.Fatalf("page %d", n)
		}
		linkRel(header, "next")
	})
}
