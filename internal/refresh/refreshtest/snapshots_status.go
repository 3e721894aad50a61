package refreshtest

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

func status(key string, code refresh.StatusCode, version int64) refresh.VersionedStatus {
	return refresh.VersionedStatus{
		Status:  refresh.Status{Entity: entity(key), Code: code, Tries: int(version), Error: "it’s 'broken'; \\ 50%", At: after(time.Duration(version) * time.Second)},
		Version: version,
	}
}

func failed(key string, version int64) refresh.VersionedStatus {
	return status(key, refresh.StatusFailed, version)
}

func retrying(key string, version int64) refresh.VersionedStatus {
	return status(key, refresh.StatusRetrying, version)
}

func (x *fixture) setStatus(statuses ...refresh.VersionedStatus) {
	x.Helper()
	x.ok(x.SetStatus(x.Context(), statuses))
}

var statusCases = []testCase{
	{"StatusWithoutASnapshot", func(x *fixture) {
		x.setStatus(failed("a", 3))
		got, ok, status, err := x.Snapshot(x.Context(), entity("a"))
		x.ok(err)
		want(x, "found", ok, false)
		want(x, "snapshot", got, refresh.Snapshot{})
		want(x, "status", *status, failed("a", 3).Status)
		want(x, "due", x.due(far, 10), []string{})
		c, err := x.Counts(x.Context(), "shop")
		x.ok(err)
		want(x, "snapshots", c.Snapshots, 0)
	}},
	{"StatusBesideASnapshot", func(x *fixture) {
		r := brought("a", 1, start, "1")
		x.store(r, brought("b", 1, start, "1"))
		x.setStatus(retrying("a", 2))
		x.wantSnapshot(snapshot(r, start, refresh.Cold))
		want(x, "status", *x.status("a"), retrying("a", 2).Status)
		want(x, "status of another", x.status("b"), nil)
	}},
	{"StatusEndsWithSave", func(x *fixture) {
		x.store(brought("touched", 1, start, "1"), brought("stored", 1, start, "1"))
		x.setStatus(failed("touched", 2), failed("stored", 2), failed("new", 2), failed("other", 2))
		x.save(brought("touched", 3, start, "1"), brought("stored", 3, start, "2"), brought("new", 3, start, "1"))
		for _, key := range []string{"touched", "stored", "new"} {
			want(x, "status of "+key, x.status(key), nil)
		}
		want(x, "status of another", *x.status("other"), failed("other", 2).Status)
	}},
	{"ObsoleteSaveLeavesTheStatus", func(x *fixture) {
		x.store(brought("a", 3, start, "1"))
		x.setStatus(failed("a", 4))
		want(x, "saved", x.save(brought("a", 2, start, "2")), []refresh.Saved{refresh.Obsolete})
		want(x, "status", *x.status("a"), failed("a", 4).Status)
	}},
	{"StatusOfAnEarlierVersionChangesNothing", func(x *fixture) {
		x.store(brought("a", 3, start, "1"))
		x.setStatus(failed("a", 2))
		want(x, "status", x.status("a"), nil)
		// What found nothing new has refreshed it as well.
		x.save(brought("a", 7, start, "1"))
		x.setStatus(failed("a", 6))
		want(x, "status", x.status("a"), nil)
		x.setStatus(failed("a", 7))
		want(x, "status", *x.status("a"), failed("a", 7).Status)
	}},
	{"LaterStatusStays", func(x *fixture) {
		x.setStatus(retrying("a", 5))
		x.setStatus(failed("a", 4))
		want(x, "status", *x.status("a"), retrying("a", 5).Status)
		x.setStatus(failed("a", 5))
		want(x, "status", *x.status("a"), failed("a", 5).Status)
		x.setStatus(retrying("a", 6))
		want(x, "status", *x.status("a"), retrying("a", 6).Status)
	}},
	{"StatusesAreSetTogether", func(x *fixture) {
		x.wantCode(x.SetStatus(x.Context(), []refresh.VersionedStatus{failed("a", 1), status("b", "FINE", 1)}), domain.CodeInvalid)
		x.wantCode(x.SetStatus(x.Context(), []refresh.VersionedStatus{failed("a", 1), failed("", 1)}), domain.CodeInvalid)
		want(x, "status", x.status("a"), nil)
		x.setStatus()
		x.setStatus(failed("a", 1), retrying("b", 2), retrying("a", 2))
		want(x, "status", *x.status("a"), retrying("a", 2).Status)
		want(x, "status", *x.status("b"), retrying("b", 2).Status)
	}},
}
