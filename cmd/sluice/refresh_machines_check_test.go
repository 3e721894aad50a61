package main_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"sluice/internal/engine"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/refresh/eventlog"
	maplesim "sluice/internal/simulator/maplestory"
	"sluice/internal/source/maplestory"
	"sluice/internal/wiring"
)

// database connects to the database itself.
func (m *refreshMachines) database() *sql.DB {
	m.t.Helper()
	host, name, _ := strings.Cut(strings.TrimPrefix(m.sql.URL(), "mysql://root@"), "/")
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.DBName = "root", "tcp", host, name
	// Connections that a fault has cut are no news.
	cfg.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	m.t.Cleanup(func() { _ = db.Close() })
	return db
}

// witness has the database itself write down every change of a snapshot, in the
// order in which they are made: its row is locked meanwhile.
func (m *refreshMachines) witness() {
	m.t.Helper()
	db := m.database()
	for _, statement := range []string{
		`CREATE TABLE refresh_witness (seq BIGINT AUTO_INCREMENT PRIMARY KEY, entity_key VARBINARY(1024) NOT NULL,
			seen BIGINT NOT NULL, seen_before BIGINT NOT NULL, version BIGINT NOT NULL, version_before BIGINT NOT NULL,
			checked BIGINT NOT NULL, checked_before BIGINT NOT NULL) ENGINE = InnoDB`,
		`CREATE TRIGGER refresh_change AFTER UPDATE ON snapshot FOR EACH ROW
			INSERT INTO refresh_witness (entity_key, seen, seen_before, version, version_before, checked, checked_before) VALUES
			(NEW.entity_key, NEW.seen_version, OLD.seen_version, NEW.version, OLD.version, NEW.checked_at, OLD.checked_at)`,
		`CREATE TRIGGER refresh_removal AFTER DELETE ON snapshot FOR EACH ROW
			INSERT INTO refresh_witness (entity_key, seen, seen_before, version, version_before, checked, checked_before) VALUES
			(OLD.entity_key, 0, OLD.seen_version, 0, OLD.version, 0, OLD.checked_at)`,
	} {
		if _, err := db.ExecContext(m.t.Context(), statement); err != nil {
			m.t.Fatal(err)
		}
	}
}

// settle waits until all that was accepted is carried out, has everything
// refreshed once more, and checks what there is then.
func (m *refreshMachines) settle(ctx context.Context, f *feeder) {
	t := m.t
	t.Helper()
	began := time.Now()
	db, pipeline := m.database(), m.look()
	f.awaitAll(ctx, db, pipeline)
	t.Logf("all that was accepted was carried out %s after the last fault", time.Since(began).Round(time.Millisecond))
	f.changeAll(ctx)
	f.askAll(ctx)
	f.awaitAll(ctx, db, pipeline)
	t.Logf("everything was refreshed once more %s after the last fault", time.Since(began).Round(time.Millisecond))
	f.checkTruth(ctx)
	f.checkOrder(ctx, db)
	letters, err := pipeline.DeadLetterCounts(ctx)
	if err != nil || len(letters) != 0 {
		t.Errorf("there are dead letters: %v, %v", letters, err)
	}
	for _, one := range m.members {
		for _, life := range one.lives {
			if strings.Contains(life.err.text(), maplesim.DefaultKey) {
				t.Errorf("the log of a process of role %s shows the key of the game", one.role)
			}
		}
	}
}

// look opens what the processes share from the test itself. Nothing is started.
func (m *refreshMachines) look() *refresh.Pipeline {
	t := m.t
	t.Helper()
	source, err := maplestory.New(maplestory.Options{BaseURL: m.game.url, Key: maplesim.DefaultKey})
	if err != nil {
		t.Fatal(err)
	}
	setting := func(name string) string {
		for _, kv := range m.env {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return value
			}
		}
		return ""
	}
	svc, err := wiring.Open(t.Context(), wiring.Options{
		Servers: wiring.Servers{
			State: setting("SLUICE_STATE"), Redis: setting("SLUICE_REDIS"), RedisPrefix: setting("SLUICE_REDIS_PREFIX"), KeyFile: m.key,
		},
		Sources: noSources(t), Quota: wiring.NoQuota(), Engine: engine.Config{RequestsOnly: true},
		Refresh: wiring.Refresh{
			Upstreams: map[string]refresh.Upstream{"maplestory": source},
			Limits:    map[string]rate.Limits{"maplestory": {Hard: 500, Rate: 450, Burst: 25, LowRate: 350, LowBurst: 25}},
			Kafka:     setting("SLUICE_KAFKA"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close(context.WithoutCancel(t.Context())) })
	return svc.Refreshes
}

// awaitAll waits until every promise is kept and nothing is left in the log.
func (f *feeder) awaitAll(ctx context.Context, db *sql.DB, pipeline *refresh.Pipeline) {
	f.t.Helper()
	again := time.NewTicker(feedEvery)
	defer again.Stop()
	for {
		open, err := f.open(ctx, db)
		var lags []eventlog.Lag
		if err == nil {
			lags, err = lagsOf(ctx, pipeline.Log)
		}
		if err == nil && len(open) == 0 && lags[0].Records == 0 && lags[1].Records == 0 {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			slices.Sort(open)
			f.t.Fatalf("%d promises are not kept, lags are %+v, %v: %.1000s\n%s", len(open), lags, err, strings.Join(open, "\n"), f.lastWords())
		}
	}
}

func lagsOf(ctx context.Context, log eventlog.Log) ([]eventlog.Lag, error) {
	high, err := log.Lag(ctx, eventlog.HighWorkers, eventlog.High)
	if err != nil {
		return nil, err
	}
	low, err := log.Lag(ctx, eventlog.LowWorkers, eventlog.Low)
	return []eventlog.Lag{high, low}, err
}

// open lists the promises that are not kept: the entity was not refreshed by
// that version or a later one, nor looked at after it was asked for.
func (f *feeder) open(ctx context.Context, db *sql.DB) (open []string, err error) {
	found, err := db.QueryContext(ctx, "SELECT entity_key, seen_version, checked_at FROM snapshot WHERE source = 'maplestory'")
	if err != nil {
		return nil, err
	}
	defer func() { _ = found.Close() }()
	type state struct{ seen, checked int64 }
	states := map[string]state{}
	for found.Next() {
		var key string
		var s state
		if err := found.Scan(&key, &s.seen, &s.checked); err != nil {
			return nil, err
		}
		states[key] = s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, p := range f.promised {
		if s := states[key]; s.seen < p.version && s.checked <= p.asked.UnixMicro() {
			open = append(open, fmt.Sprintf("%s: promised %d at %s, has %d of %s", key, p.version, p.asked.UTC().Format(time.RFC3339Nano),
				s.seen, time.UnixMicro(s.checked).UTC().Format(time.RFC3339Nano)))
		}
	}
	return open, found.Err()
}

// checkTruth compares every snapshot, as the API tells it, with the game.
func (f *feeder) checkTruth(ctx context.Context) {
	f.t.Helper()
	wrong := make(chan string, len(f.keys))
	var work sync.WaitGroup
	for part := range slices.Chunk(f.keys, len(f.keys)/feedCallers+1) {
		work.Go(func() {
			for _, key := range part {
				if why := f.differs(ctx, key); why != "" {
					wrong <- key + ": " + why
				}
			}
		})
	}
	work.Wait()
	close(wrong)
	for text := range wrong {
		f.t.Error(text)
	}
	audit := f.game.audit()
	if audit.Violations != 0 || audit.LargestSecond > 500 {
		f.t.Errorf("the game counted calls beyond its limits: %+v", audit)
	}
	f.t.Logf("%d keys; %d asked for: %d accepted, %d under way already, %d refused; %d changes; %d calls, at most %d in a second",
		len(f.keys), f.asked.Load(), f.accepted.Load(), f.coalesced.Load(), f.refused.Load(), f.changed.Load(), audit.Calls, audit.LargestSecond)
}

// differs tells how a snapshot differs from the truth, "" if it does not. What
// the API has cached may be older, for a moment.
func (f *feeder) differs(ctx context.Context, key string) string {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); ; {
		answer, err := f.api.Snapshot(ctx, refresh.Entity{Source: "maplestory", Key: key})
		if err == nil && f.game.holds(ctx, key, answer.Snapshot) {
			if answer.Status != nil || answer.Freshness != refresh.Fresh {
				return fmt.Sprintf("it is %s with status %+v", answer.Freshness, answer.Status)
			}
			return ""
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err().Error()
		}
		if time.Now().After(deadline) {
			return fmt.Sprintf("it is %.200s (checked %s, updated %s), %v, which is not the truth", answer.Snapshot, answer.LastCheckedAt, answer.LastUpdatedAt, err)
		}
	}
}

// checkOrder reads what the database wrote down: no version and no time of
// check ever went back.
func (f *feeder) checkOrder(ctx context.Context, db *sql.DB) {
	t := f.t
	t.Helper()
	found, err := db.QueryContext(ctx, `SELECT entity_key, seen, seen_before, version, version_before, checked, checked_before
		FROM refresh_witness ORDER BY seq`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	refreshes, repeated, values, back := 0, 0, 0, 0
	for found.Next() {
		var key string
		var seen, seenBefore, version, versionBefore, checked, checkedBefore int64
		if err := found.Scan(&key, &seen, &seenBefore, &version, &versionBefore, &checked, &checkedBefore); err != nil {
			t.Fatal(err)
		}
		switch {
		case seen < seenBefore, version < versionBefore, checked < checkedBefore:
			if back++; back <= 10 {
				t.Errorf("%s went back: from refresh %d, value %d, checked %d to refresh %d, value %d, checked %d",
					key, seenBefore, versionBefore, checkedBefore, seen, version, checked)
			}
		case seen > seenBefore:
			refreshes++
		case checked > checkedBefore:
			repeated++
		}
		if version > versionBefore {
			values++
		}
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	if back > 10 {
		t.Errorf("%d changes went back in all", back)
	}
	if refreshes < len(f.keys) || values < len(f.keys) {
		t.Errorf("only %d refreshes and %d values were seen", refreshes, values)
	}
	calls := f.game.audit().Calls
	t.Logf("%d refreshes stored, %d of them once more, %d new values; %d calls more than refreshes", refreshes, repeated, values, calls-int64(refreshes))
}
