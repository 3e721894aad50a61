package mongo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"sluice/internal/backend/mongo"
	"sluice/internal/domain"
	"sluice/internal/testkit"
	"sluice/internal/timer"
	"sluice/internal/timer/timertest"
)

func openTimerLog(tb testing.TB, url string) *mongo.TimerLog {
	tb.Helper()
	log, err := mongo.NewTimerLog(tb.Context(), open(tb, url))
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	return log
}

func TestTimerLogConformance(t *testing.T) {
	timertest.RunLog(t, timertest.LogFactory{New: func(t *testing.T) timer.Log { return openTimerLog(t, testkit.Mongo(t)) }})
}

func completion(n int) timer.Completion {
	due := time.Date(2026, 5, 1, 0, 0, 0, 123457000, time.UTC).Add(time.Duration(n) * time.Second)
	return timer.Completion{
		Timer: fmt.Sprintf("timer-%07d", n), Due: due, FiredAt: due.Add(1500 * time.Microsecond), Server: fmt.Sprintf("server-%d", n%3),
		Lateness: 1500 * time.Microsecond, Success: true, Status: timer.Completed, Tries: 1, Payload: []byte(`{"order":7}`),
	}
}

func completions(t *testing.T, url string) *driver.Collection {
	t.Helper()
	return collection(t, url, "timer_completion_logs")
}

// TestTimerLogFields are what others query by.
func TestTimerLogFields(t *testing.T) {
	url := testkit.Mongo(t)
	log, entries, c := openTimerLog(t, url), completions(t, url), completion(0)
	read := func() bson.M {
		t.Helper()
		var got bson.M
		if err := entries.FindOne(t.Context(), bson.D{{Key: "_id", Value: c.Timer}}).Decode(&got); err != nil {
			t.Fatalf("find: %v", err)
		}
		return got
	}
	began := time.Now().Truncate(time.Millisecond)
	if err := log.Append(t.Context(), []timer.Completion{c}); err != nil {
		t.Fatalf("append: %v", err)
	}
	got := read()
	created := got["createdAt"].(bson.DateTime)
	if at := created.Time(); at.Before(began) || at.After(time.Now()) {
		t.Errorf("createdAt is %v, want now", at)
	}
	delete(got, "createdAt")
	want := bson.M{
		"_id": "timer-0000000", "timerId": "timer-0000000", "serverId": "server-0",
		"dueAt": bson.NewDateTimeFromTime(c.Due), "dueAtMicros": c.Due.UnixMicro(),
		"notificationReceivedAt": bson.NewDateTimeFromTime(c.FiredAt), "notificationReceivedAtMicros": c.FiredAt.UnixMicro(),
		"latenessMicros": int64(1500), "late": false, "success": true, "status": "COMPLETED", "tries": int64(1), "error": "", "payload": `{"order":7}`,
	}
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
	// When it was first logged stays.
	c.Status = timer.Dead
	if err := log.Append(t.Context(), []timer.Completion{c}); err != nil {
		t.Fatalf("append again: %v", err)
	}
	if again := read(); again["createdAt"] != created || again["status"] != "DEAD" {
		t.Errorf("after a replacement: %v", again)
	}
}

func TestTimerLogIndex(t *testing.T) {
	url := testkit.Mongo(t)
	openTimerLog(t, url)
	openTimerLog(t, url) // another process finds it
	specs, err := completions(t, url).Indexes().ListSpecifications(t.Context())
	if err != nil || len(specs) != 2 {
		t.Fatalf("%d indexes (%v), want that of the id and one more", len(specs), err)
	}
	var keys bson.D
	if err := bson.Unmarshal(specs[1].KeysDocument, &keys); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 2 || keys[0].Key != "notificationReceivedAtMicros" || keys[1].Key != "_id" {
		t.Errorf("the index is %v", keys)
	}
}

// TestTimerLogDamage: what somebody else changed is an error that says so.
func TestTimerLogDamage(t *testing.T) {
	for field, value := range map[string]any{"status": "HALF", "payload": 7} {
		url := testkit.Mongo(t)
		log := openTimerLog(t, url)
		if err := log.Append(t.Context(), []timer.Completion{completion(1)}); err != nil {
			t.Fatalf("append: %v", err)
		}
		_, err := completions(t, url).UpdateMany(t.Context(), bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: value}}}})
		if err != nil {
			t.Fatalf("damage: %v", err)
		}
		_, err = log.Completions(t.Context(), time.Time{}, "", 1)
		if domain.CodeOf(err) != domain.CodeCorrupt || !strings.Contains(err.Error(), "timer-0000001") {
			t.Errorf("%s: %v, want code corrupt and the timer's id", field, err)
		}
	}
}

// TestTimerLogLargePayloads fill more than one call.
func TestTimerLogLargePayloads(t *testing.T) {
	const many = 200
	log := openTimerLog(t, testkit.Mongo(t))
	batch := make([]timer.Completion, many)
	for i := range batch {
		batch[i] = completion(i)
		batch[i].Payload = []byte(`"` + strings.Repeat(fmt.Sprint(i%10), timer.MaxPayload-2) + `"`)
	}
	if err := log.Append(t.Context(), batch); err != nil {
		t.Fatalf("append: %v", err)
	}
	got, err := log.Completions(t.Context(), time.Time{}, "", many)
	if err != nil || len(got) != many {
		t.Fatalf("%d came back (%v), want %d", len(got), err, many)
	}
	for i := range got {
		if string(got[i].Payload) != string(batch[i].Payload) {
			t.Errorf("the payload of %s is another", got[i].Timer)
		}
	}
}

// TestTimerLogStatsOfSeveralBatches has more than one call brings.
func TestTimerLogStatsOfSeveralBatches(t *testing.T) {
	const many = 12_000
	log := openTimerLog(t, testkit.Mongo(t))
	batch := make([]timer.Completion, many)
	for i := range batch {
		batch[i] = completion(i)
	}
	if err := log.Append(t.Context(), batch); err != nil {
		t.Fatalf("append: %v", err)
	}
	began := time.Now()
	got, err := log.Stats(t.Context(), time.Time{})
	if err != nil || got.Completed != many || got.Servers["server-2"] != many/3 || got.Mean != 1500*time.Microsecond {
		t.Errorf("got %+v (%v)", got, err)
	}
	t.Logf("summed up %d completions in %v", many, time.Since(began))
}

// TestTimerLogOutage kills the server and starts it again.
func TestTimerLogOutage(t *testing.T) {
	t.Parallel()
	server := testkit.StartMongo(t)
	// Whoever finds no server is to say so soon, whoever comes back may look for it
	// as long as programs do.
	log, patient := openTimerLog(t, server.URL()+"?serverSelectionTimeoutMS=1000"), openTimerLog(t, server.URL())
	first, second := completion(1), completion(2)
	for _, l := range []*mongo.TimerLog{log, patient} {
		if err := l.Append(t.Context(), []timer.Completion{first}); err != nil {
			t.Fatalf("append: %v", err)
		}
	}
	server.Kill()
	for name, call := range map[string]func() error{
		"append":      func() error { return log.Append(t.Context(), []timer.Completion{second}) },
		"completions": func() error { _, err := log.Completions(t.Context(), time.Time{}, "", 1); return err },
		"stats":       func() error { _, err := log.Stats(t.Context(), time.Time{}); return err },
		"prune":       func() error { _, err := log.Prune(t.Context(), time.Now(), 1); return err },
		"check":       func() error { return log.Check(t.Context()) },
	} {
		if err := call(); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("%s without a server: %v, want code unavailable", name, err)
		}
	}
	server.Start()
	if err := patient.Check(t.Context()); err != nil {
		t.Errorf("check when the server is back: %v", err)
	}
	// An outage that nobody saw is none, but for the connections.
	server.Kill()
	server.Start()
	if err := patient.Append(t.Context(), []timer.Completion{second}); err != nil {
		t.Fatalf("append after a short outage: %v", err)
	}
	got, err := patient.Completions(t.Context(), time.Time{}, "", 10)
	if err != nil || len(got) != 2 || got[0].Timer != first.Timer || got[1].Timer != second.Timer {
		t.Errorf("got %+v (%v), want both", got, err)
	}
}
