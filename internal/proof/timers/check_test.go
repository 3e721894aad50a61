package timers_test

import (
	"context"
	"regexp"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/client"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
	"sluice/internal/timer"
)

// timerRow is what the database has of a timer.
type timerRow struct {
	at, set, fired time.Time
	status         timer.Status
	server         string
}

// lateness counts from the instant, or from when the timer was set if that was
// later.
func (r timerRow) lateness() time.Duration {
	if r.set.After(r.at) {
		return r.fired.Sub(r.set)
	}
	return r.fired.Sub(r.at)
}

// rows reads all timers from the database itself.
func (s *timerServers) rows() map[string]timerRow {
	t := s.T
	t.Helper()
	db := testkit.OpenSQL(t, s.SQL.URL())
	found, err := db.QueryContext(t.Context(), "SELECT id, at, set_at, ended_at, status, server FROM timer")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	rows := map[string]timerRow{}
	for found.Next() {
		var id string
		var at, set, fired int64
		var row timerRow
		if err := found.Scan(&id, &at, &set, &fired, &row.status, &row.server); err != nil {
			t.Fatal(err)
		}
		row.at, row.set, row.fired = time.UnixMicro(at), time.UnixMicro(set), time.UnixMicro(fired)
		rows[id] = row
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// checkLog reads the log of completions from its server itself: it has every
// timer once, as the rows do.
func (s *timerServers) checkLog(rows map[string]timerRow) {
	t := s.T
	t.Helper()
	c, err := mongo.Connect(options.Client().ApplyURI(s.Mongo.URL()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Disconnect(context.WithoutCancel(t.Context())) }()
	name := s.Mongo.URL()[strings.LastIndexByte(s.Mongo.URL(), '/')+1:]
	found, err := c.Database(name).Collection("timer_completion_logs").Find(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct {
		Timer   string `bson:"timerId"`
		Server  string `bson:"serverId"`
		Fired   int64  `bson:"notificationReceivedAtMicros"`
		Success bool   `bson:"success"`
		Status  string `bson:"status"`
	}
	if err := found.All(t.Context(), &entries); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		row, ok := rows[e.Timer]
		switch {
		case !ok || seen[e.Timer]:
			t.Errorf("the log has %s which has no row, or twice", e.Timer)
		case e.Server != row.server || e.Fired != row.fired.UnixMicro():
			t.Errorf("%s: the log says that %s fired it at %d, the row that %s did at %d", e.Timer, e.Server, e.Fired, row.server, row.fired.UnixMicro())
		case !e.Success || e.Status != timer.Completed.String():
			t.Errorf("%s: the log says %s, success %t", e.Timer, e.Status, e.Success)
		}
		seen[e.Timer] = true
	}
	if len(seen) != len(rows) {
		t.Errorf("the log has %d of %d timers", len(seen), len(rows))
	}
}

// checkAPI asks every server what has fired.
func (s *timerServers) checkAPI(rows map[string]timerRow) {
	t := s.T
	t.Helper()
	for i, p := range s.places {
		stats, err := p.awaitService(t).CompletionStats(t.Context(), 1)
		if err != nil {
			t.Fatalf("server %d: %v", i, err)
		}
		n := int64(len(rows))
		if stats.Completed != n || stats.Succeeded != n || stats.Failed != 0 || stats.Pending != 0 {
			t.Errorf("server %d counts %+v, want %d", i, stats, n)
		}
	}
	seen, after := map[string]bool{}, ""
	for {
		page, err := s.places[0].client().Completions(t.Context(), 1, client.Page{Limit: 1000, Cursor: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Items {
			if seen[c.Timer] {
				t.Errorf("%s is listed twice", c.Timer)
			}
			seen[c.Timer] = true
		}
		if after = page.NextCursor; after == "" {
			break
		}
	}
	if len(seen) != len(rows) {
		t.Errorf("%d completions are listed, want %d", len(seen), len(rows))
	}
}

// checkReceiver proves that every webhook was called, and told of one firing
// however often.
func (s *timerServers) checkReceiver(plan []plannedTimer, rows map[string]timerRow) {
	t := s.T
	t.Helper()
	s.receiver.mu.Lock()
	defer s.receiver.mu.Unlock()
	wanted, calls := 0, 0
	for _, p := range plan {
		got := s.receiver.calls[p.ID]
		calls += len(got)
		if p.Webhook == "" {
			if len(got) > 0 {
				t.Errorf("%s has no webhook, and was delivered", p.ID)
			}
			continue
		}
		wanted++
		if len(got) == 0 {
			t.Errorf("the webhook of %s was not called", p.ID)
		}
		for _, n := range got {
			if row := rows[p.ID]; !n.Fired.Equal(row.fired) || n.Server != row.server {
				t.Errorf("%s fired twice: a webhook says that %s did it at %s, the row that %s did at %s", p.ID, n.Server, n.Fired, row.server, row.fired)
			}
		}
	}
	t.Logf("%d timers with a webhook were delivered by %d calls", wanted, calls)
}

var lateLine = regexp.MustCompile(`msg="a timer fired late" timer=(\S+)`)

// checkFiredOnce reads in the logs of all lives that no timer was fired by two.
func (s *timerServers) checkFiredOnce(rows map[string]timerRow) {
	t := s.T
	t.Helper()
	fired := map[string]int{}
	for _, p := range s.places {
		for _, life := range p.Lives {
			sluice.CheckNoSecret(t, "log", life.Stderr.Text())
			for _, found := range lateLine.FindAllStringSubmatch(life.Stderr.Text(), -1) {
				fired[found[1]]++
			}
		}
	}
	for id, n := range fired {
		if row, ok := rows[id]; n > 1 || !ok || row.lateness() <= timer.LateAfter {
			t.Errorf("%d servers say that they fired %s late; its row says %+v", n, id, row)
		}
	}
}
