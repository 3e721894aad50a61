// Package maplestory reads characters of MapleStory from Nexon's Open API and
// trims them to what is worth keeping.
//
// Fetch makes exactly one call and says what its answer means; it never
// retries, waits or touches a store. An answer is trimmed to the field list
// (fields.go) by sluice/internal/source/trim.
//
// What the rest of the program must know of it, its settings and rates, is
// declared in describe.go.
package maplestory
