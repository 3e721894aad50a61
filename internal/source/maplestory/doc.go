// Package maplestory reads characters of MapleStory from Nexon's Open API and
// trims them to what is worth keeping.
//
// Fetch makes exactly one call and says what its answer means; it never
// retries, waits or touches a store. An answer is trimmed in one pass over its
// bytes: what is not in the field list is checked for being well-formed and
// skipped, what is in it is written in a canonical form, so that two answers
// that say the same have the same hash.
//
// What the rest of the program must know of it, its settings and rates, is
// declared in describe.go.
package maplestory
