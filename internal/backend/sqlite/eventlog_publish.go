package sqlite

import (
	"cmp"
	"context"
	"slices"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/refresh"
)

// publication is one Publish on its way through the writer.
type publication struct {
	at   int64
	rows []recordRow
	// last is the offset of the latest record of each partition.
	last map[int64]int64
}

type recordRow struct {
	partition int64
	offset    int64
	message   *refresh.Message
}

// Publish implements refresh.EventLog. Concurrent calls share one fsync. Once begun
// it waits for the outcome, however ctx ends: consumers are told of what is on
// disk.
func (l *EventLog) Publish(ctx context.Context, name refresh.Topic, messages ...refresh.Message) error {
	if err := ctx.Err(); err != nil || len(messages) == 0 {
		return err
	}
	t, err := l.topic(ctx, name)
	if err != nil {
		return err
	}
	item := &publication{at: time.Now().UnixMicro(), rows: make([]recordRow, len(messages)), last: map[int64]int64{}}
	for i := range messages {
		item.rows[i] = recordRow{partition: t.partitions[partitionOf(name, messages[i].Key)].id, message: &messages[i]}
	}
	if err := l.appends.Do(context.WithoutCancel(ctx), item); err != nil {
		return err
	}
	l.mu.Lock()
	for _, p := range t.partitions {
		p.last = max(p.last, item.last[p.id])
	}
	t.tell()
	l.mu.Unlock()
	l.sweep(context.WithoutCancel(ctx), t)
	return nil
}

var insertRecord = NewInsert("INSERT INTO eventlog_record (partition_id, position, at, key, value)", "", 5)

// appendRecords appends what all publications brought, those of the first first.
// Where partitions end is read here, inside the transaction, so that offsets
// have no gaps whatever becomes of it.
func appendRecords(c *driver.Conn, items []*publication) error {
	ends, before := map[int64]int64{}, map[int64]int64{}
	err := Exec(c, "SELECT id, last FROM eventlog_partition", func(r *driver.Stmt) { ends[r.ColumnInt64(0)] = r.ColumnInt64(1) })
	if err != nil {
		return err
	}
	type dated struct {
		*recordRow
		at int64
	}
	var rows []dated
	for _, item := range items {
		clear(item.last)
		for i := range item.rows {
			r := &item.rows[i]
			if _, ok := before[r.partition]; !ok {
				before[r.partition] = ends[r.partition]
			}
			ends[r.partition]++
			r.offset = ends[r.partition]
			item.last[r.partition] = r.offset
			rows = append(rows, dated{r, item.at})
		}
	}
	// Neighbours in the file are written one after the other.
	slices.SortFunc(rows, func(a, b dated) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
	})
	err = insertRecord.Run(c, len(rows), func(stmt *driver.Stmt, base, i int) {
		stmt.BindInt64(base, rows[i].partition)
		stmt.BindInt64(base+1, rows[i].offset)
		stmt.BindInt64(base+2, rows[i].at)
		bindBlob(stmt, base+3, []byte(rows[i].message.Key))
		bindBlob(stmt, base+4, rows[i].message.Value)
	}, nil)
	if err != nil {
		return err
	}
	for id := range before {
		if err := Exec(c, "UPDATE eventlog_partition SET last = ? WHERE id = ?", nil, ends[id], id); err != nil {
			return err
		}
	}
	return nil
}
