// Package github simulates GitHub's REST v3 and GraphQL APIs for tests,
// demonstrations and benchmarks.
//
// The base world is a pure function of a seed: commit i of a repository is
// computed when it is asked for, never stored, so an account with a million
// commits costs no memory and any page costs only its own length. What changes
// later (pushes, edits, renames, deletions) lives in a small overlay.
//
// The simulator enforces the limits GitHub enforces and keeps an audit of every
// call, so a collector can be held to account: Audit says how it behaved, Truth
// says what it must have collected. Neither uses any of the collector's code.
package github
