package streams_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/sink"
	"sluice/internal/sink/hook"
	"sluice/internal/testkit"
	"sluice/internal/webhook"
)

// duckRows reads the files that the catalogue of a lake names for its newest snapshot.
func duckRows(t *testing.T, dir string, table sink.Table) []sink.Row {
	t.Helper()
	conn, err := driver.OpenConn(filepath.Join(dir, "catalog.sqlite"), driver.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var files []string
	err = sqlitex.Execute(conn, `SELECT t.path || f.path FROM ducklake_table t JOIN ducklake_data_file f USING (table_id)
WHERE t.table_name = ? AND t.end_snapshot IS NULL AND f.end_snapshot IS NULL`, &sqlitex.ExecOptions{Args: []any{table.Name}, ResultFunc: func(s *driver.Stmt) error {
		files = append(files, filepath.Join(dir, s.ColumnText(0)))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return parquetRows(t, files, table)
}

// topicRows reads what a topic has last of each key.
func topicRows(t *testing.T, broker, prefix string, table sink.Table) (rows []sink.Row) {
	t.Helper()
	topic := prefix + "." + table.Name
	reader, err := kgo.NewClient(kgo.SeedBrokers(testkit.KafkaBrokers(broker)...), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	ends, err := kadm.NewClient(reader).ListCommittedOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	until := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			until[o.Partition] = o.Offset - 1
		}
	})
	values := map[string][]byte{}
	for len(until) > 0 {
		fetched := reader.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			t.Fatal(err)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			if last, ok := until[r.Partition]; ok && r.Offset >= last {
				delete(until, r.Partition)
			}
			switch {
			case r.Attrs.IsControl():
			case r.Value == nil:
				delete(values, string(r.Key))
			default:
				values[string(r.Key)] = r.Value
			}
		})
	}
	for _, value := range values {
		rows = append(rows, jsonRow(t, table, value))
	}
	return rows
}

const secret = "a secret of the proof's own"

// receiver keeps rows as docs/sinks.md tells receivers to.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	rows map[key]kept
	seen map[string]bool
	// refuses everything while it is set.
	refuses atomic.Bool
}

type key struct {
	table   string
	account int64
	name    string
}

type kept struct {
	row        json.RawMessage
	generation int64
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{rows: map[key]kept{}, seen: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return // the sender was killed
		}
		var b hook.Batch
		if err = webhook.Verify(secret, q.Header, body, time.Now(), 5*time.Minute); err == nil {
			err = json.Unmarshal(body, &b)
		}
		if err != nil {
			t.Errorf("a batch is not sound: %v", err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if r.refuses.Load() {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.seen[b.ID] {
			r.seen[b.ID] = true
			r.take(&b)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(b *hook.Batch) {
	for _, account := range b.Purged {
		for k := range r.rows {
			if k.account == account {
				delete(r.rows, k)
			}
		}
	}
	for _, row := range b.Rows {
		k := key{row.Table, row.Account, row.Name}
		if row.Removed {
			delete(r.rows, k)
			continue
		}
		r.rows[k] = kept{row.Row, b.Generation}
	}
	for k, one := range r.rows {
		if b.Sweep && one.generation < b.Generation {
			delete(r.rows, k)
		}
	}
}

func (r *receiver) table(t *testing.T, table sink.Table) (rows []sink.Row) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, one := range r.rows {
		if k.table == table.Name {
			rows = append(rows, jsonRow(t, table, one.row))
		}
	}
	return rows
}
