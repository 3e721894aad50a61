// Package redis is the backend on Redis, for many processes that share one: it
// implements the ports that need to be fast and may be lost. Everything that
// has to be decided once is decided by a script, by the clock of Redis, and who
// gets no answer from Redis does nothing. One server will do, or a cluster.
//
//	db*.go          the connection, the names of keys, scripts, signals, what
//	                failures mean, and what doctor and the API tell of a server
//	due*.go         DueSet: what waits for an instant (due.Set); its functions are in
//	                every script that lets something wait
//	dispatch*.go    Dispatcher: what is ready and what is due (dispatch.Dispatcher)
//	ration*.go      Rations: what calls draw on (keeper.Keeper)
//	rate*.go        Rate: calls a second and a day of upstreams (rate.Keeper)
//	results*.go     Results: what was paid for and not stored yet (state.Pending)
//	coalescer*.go   Coalescer: one refresh of an entity at a time (refresh.Coalescer)
//	cache*.go       Cache: snapshots that were read (refresh.Cache)
//	eventlog*.go    EventLog: what is to be refreshed (refresh.EventLog)
//	timers*.go      KeyspaceTrigger: when timers are due, by key expiry (due.Set)
//	scripts/        the scripts of each, in a folder of its own
//
// # Dispatcher
//
// The Go side merges what concurrent callers ask, waits in blocking reads, and
// runs the scheduler that lets instants have their effect on time. What is
// handed out lies in two streams with a consumer group, one for each priority. A
// lease is the stream's entry, delivered to a consumer, and the end of the lease
// in a sorted set. The streams hold what is leased and nothing else; they are
// never trimmed.
//
// # Rations
//
// What Redis knows may vanish, or go back: to an old snapshot when it is started
// again, or to what a replica had that took over. Both are noticed: a state that
// another server wrote, or with a lower number than a process or the store has seen,
// is taken for lost. What was stored ahead of being taken goes on to count then. Calls
// that were under way may be counted late: what is stored holds back for them.
//
// # Rate
//
// When what Redis knows has vanished, nothing is granted for a second, and what
// a store holds of the day, which is written down ahead of the calls, is taken
// for used.
//
// # Results, Coalescer, Cache
//
// Each result has a key of its own, spread over a cluster, and a life of its
// own. So have entities whose requests are coalesced. Snapshots are cached in
// Redis and, with its help, in every process: Redis tells a process when
// something it has read has changed (client-side caching), so that reading costs
// no trip while nothing changes.
//
// # EventLog
//
// There is one stream for each partition, whose entries are removed when every
// group that ever joined the topic has dealt with them. A topic that no group
// has joined keeps its entries for as long as the topic says.
//
// Each partition belongs to one consumer of a group at a time, by a claim that
// grows with every change of hands: what is said under an old claim has no
// effect. Who has what is decided by a script, by the clock of Redis: whoever
// calls it shares out all that is free, and a channel tells those whose share has
// changed. A consumer that has too many gives up those first that it is doing
// nothing of, and the others when what is under way is done. One that is silent
// for the time of a lease counts as dead: everybody learns when they ask how long
// the others may still be silent, and looks again at that instant. Records are
// read ahead by a blocking read.
//
// Offsets are made of the ids of entries, so they and the claims grow also when
// Redis has lost everything; then what was in the log is gone, everybody goes on
// with what is published next, and the epoch tells that something was lost.
//
// # DueSet, KeyspaceTrigger
//
// DueSet keeps timers in one sorted set. Who waits knows the earliest instant
// and sleeps until then; an instant that becomes the earliest is announced over
// Pub/Sub. KeyspaceTrigger, the alternative, has Redis announce the instants
// itself, as keys that expire: less is promised about when that happens.
package redis
