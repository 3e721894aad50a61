// Package mongo keeps data in MongoDB, or a server of its protocol. Nothing here
// uses transactions, since not every such server has them: each record is
// whole, and what failed is repeated.
//
//	db*.go         DB: the connection, writes that survive a dead one, and what a failure means
//	documents*.go  Documents, a document.Store with its feed (documents_feed.go says how that is kept)
//	timerlog*.go   TimerLog, a timer.Log
//	words*.go      Words, a wordindex.Index
package mongo
