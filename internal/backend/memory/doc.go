// Package memory implements the ports that a single process needs beside its
// store, in that process. Nothing here is kept: after a restart it is filled
// again from what was stored.
//
//	dispatch*.go   Dispatcher, a dispatch.Dispatcher: which jobs run next
//	ration*.go     Rations, a keeper.Keeper: what upstreams grant, and what was drawn on
//	               it; what is written down of it survives
//	coalescer*.go  Coalescer, a refresh.Coalescer: one refresh of an entity at a time
//	cache.go       Cache, a refresh.Cache: snapshots that are read often
//	due*.go        DueSet, a due.Set: which timers are due; and the heap of
//	               instants that it and Dispatcher wait with
package memory
