// Package github collects what GitHub (or a GitHub Enterprise Server) has of an
// account: its profile, events and repositories, and the commits, issues and
// pull requests of those.
//
// Every job is exactly one call. The package says what an answer means and what
// should be asked next; it never retries, waits, or touches a store.
//
// # Exact under change
//
// Pages are chosen so that a change between two of them hides nothing. Full
// walks of repositories go up the time they are ordered by: what changes while
// they walk moves ahead of them and is met again. Issues and pull requests are
// walked by creation, which never changes; commits are bounded by the run's
// anchor. Repositories are addressed by id, so a rename changes nothing.
//
// A later run asks only for what changed. Changed pull requests are learnt from
// the issues listing, which can be bounded by time and names them, and fetched
// by id in batches. Both cursors move with the last of these batches. Whether
// only new commits were added is proved, not assumed: see [proof].
//
// # One call, to one host
//
// The client is net/http's transport with a few guarantees of its own: it sends
// a request at most once, follows no redirect, speaks to the configured host
// only, and bounds the size of an answer. go-github is not used: it has no
// conditional requests, refuses calls locally on its own count of the quota,
// and follows redirects with the token to whatever host they name.
//
// # App installations
//
// A credential is a token or an [AppCredential]. For the latter the source asks
// GitHub for an installation's token before a job's call, keeps it in memory
// and replaces it before it ends. Asking is no data call: it takes nothing from
// the installation's quota.
//
// # What is declared
//
// What the rest of the program must know of GitHub is declared here: in
// describe.go its settings, rations and doctor's look, in hook.go its webhooks, in
// kinds.go the kinds of documents, in columns.go the columns of their tables, and in
// own.go how those are read from payloads.
package github
