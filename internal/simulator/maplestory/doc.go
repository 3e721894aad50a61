// Package maplestory simulates the MapleStory part of Nexon's Open API for
// tests, demonstrations and benchmarks.
//
// Every value is a pure function of the seed, the character, the part and how
// often it has changed by then, so a million characters cost no memory and any
// past value can be told again. An equipment of 300 KB is put together from
// pieces that are rendered once, when the server is made.
//
// The limits are enforced exactly, over every sliding second, and every call is
// audited: Audit says how the callers behaved, Truth says what they must have
// kept. Neither uses any of the collector's code.
package maplestory
