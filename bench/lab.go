package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"sluice/bench/peer"
	"sluice/bench/report"
	"sluice/bench/servers"
)

// benchmark is one thing that is measured.
type benchmark struct {
	name, about string
	needs       []servers.Kind
	run         func(context.Context, *lab) error
}

// benchmarks lists them in the order in which they run.
func benchmarks() []benchmark {
	both := []servers.Kind{servers.Redis, servers.Postgres}
	return []benchmark{
		{"durable_noop", "no-op jobs through the whole engine, beside asynq and River", both, durableNoop},
		{"collection", "collecting from the simulator, beside a bare loop of the same calls", nil, collection},
		{"feed_cost", "collecting with the log of changes, beside the same without it", nil, feedCost},
		{"declared_speed", "collecting by a file that describes an API, beside the hand-written source of the same", nil, declaredSpeed},
		{"due_lateness", "how late jobs begin that are due at an instant, through the whole engine, beside asynq and River", both, dueLateness},
		{"idle", "the program with nothing to do, beside idle peers", both, idle},
		{"million_pending", "start and lease with a million jobs that wait, beside a thousand", nil, millionPending},
		{"quota_used", "how much of each quota window is spent", nil, quotaUsed},
		{"first_calls", "calls of a first collection, beside a plan of one page per call", nil, firstCalls},
		{"second_run", "what collecting again costs when nothing has changed", nil, secondRun},
		{"one_percent", "calls after one in a hundred has changed, beside the fewest possible", nil, onePercent},
		{"forecast", "what a run says early about its end, beside its end", nil, forecast},
		{"million_commits", "memory while a million commits are collected", nil, millionCommits},
		{"big_repository", "memory while a repository of 1,000,000 commits, 300,000 issues and 2,000,000 comments is collected, beside one of half the size", nil, bigRepository},
		{"simulator", "the simulated GitHub alone, beside a handler that does nothing", nil, simulator},
		{"lists", "lists and details over HTTP with 10,000 accounts and 1,000,000 jobs, on SQLite, MariaDB and PostgreSQL", append([]servers.Kind{servers.Postgres}, machineServers...), lists},
		{"dashboard", "each page of the dashboard over loopback, with 10,000 accounts, 1,000,000 jobs and 1,000,000 documents in SQLite", nil, dashboard},
		{"documents_list", "pages of 100 documents by filter and order with 1,000,000 documents, on SQLite, MariaDB and PostgreSQL", []servers.Kind{servers.MariaDB, servers.Postgres}, documentLists},
		{"sink_postgres", "rows carried to PostgreSQL, beside one COPY of the same rows", []servers.Kind{servers.Postgres}, sinkPostgres},
		{"parquet_export", "rows exported as Parquet, beside parquet-go alone", nil, parquetExport},
		{"taken_memory", "memory of exports, syncs and a sweep of a million documents, beside a tenth of them", nil, takenMemory},
		{"search", "searches by words with 1,000,000 documents on SQLite, beside FTS5 itself", nil, search},
		{"search_servers", "searches by words with 200,000 documents on MariaDB and PostgreSQL, beside full-text indexes of theirs", []servers.Kind{servers.MariaDB, servers.Postgres}, searchServers},
		{"quota_reserve", "reservations in process", nil, quotaReserve},
		{"group_commit", "rows written by many at once, beside the disk's fdatasync", nil, groupCommit},
		{"machines_noop", "no-op jobs through MariaDB and Redis, beside asynq", machineServers, machinesNoop},
		{"machines_lateness", "how late jobs begin that are due at an instant, through MariaDB and Redis, beside asynq", machineServers, machinesLateness},
		{"machines_kill", "how long the jobs of a killed process wait for another, beside asynq", machineServers, machinesKill},
		{"machines_idle", "the program on MariaDB and Redis with nothing to do, beside an idle asynq", machineServers, machinesIdle},
		{"machines_reserve", "reservations with their settlement through Redis, beside redis_rate", []servers.Kind{servers.Redis}, machinesReserve},
		{"rations_reserve", "three rations for one call, beside one", []servers.Kind{servers.Redis}, rationsReserve},
		{"machines_pending", "cost of a job while a million wait in MariaDB and Redis, beside a thousand", machineServers, machinesPending},
		{"timer_lateness", "how late timers fire at 1,000 a second, embedded, through Redis, and by key expiry, beside asynq", machineServers, timerLateness},
		{"timer_million", "setting, keeping and starting with a million timers; 10,000 that are due at once, beside asynq", machineServers, timerMillion},
		{"refresh_rate", "calls of four processes that keep snapshots fresh, through Redis and through Kafka, beside what the game allows", refreshServers, refreshRate},
		{"refresh_load", "what readers notice at the peak and while the log, Redis or the store fail", nil, refreshLoad},
		{"refresh_free", "refreshes without a limit, beside plain SQL and compression alone", refreshServers, refreshFree},
		{"refresh_storage", "bytes stored and written for snapshots, beside the answers as they come", nil, refreshStorage},
		{"refresh_herd", "calls and requests that many ask for at once, beside bare locks in Redis", machineServers, refreshHerd},
	}
}

// lab is what a benchmark works with.
type lab struct {
	settings
	dir     string
	servers *servers.Set
	shared  []peer.Peer
	onRedis *peer.Asynq
	report  *report.Report
	log     io.Writer
}

// rounds is how often a comparison is repeated; medians are reported.
func (l *lab) rounds() int { return l.size(3, 1) }

// size is a count, or a small one in short mode.
func (l *lab) size(full, short int) int {
	if l.short {
		return short
	}
	return full
}

// folder makes a folder of its own on disk; remove drops it when its
// measurement is over, so that folders of earlier rounds cost no cache.
func (l *lab) folder(name string) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(l.dir, name+"-")
	return dir, func() {
		if err := os.RemoveAll(dir); err != nil {
			l.notef("remove %s: %v", dir, err)
		}
	}, err
}

func (l *lab) notef(format string, args ...any) {
	fmt.Fprintf(l.log, "bench:   "+format+"\n", args...)
}
