package sqlite

import (
	"time"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// eraseWait is how long the writer waits for readers that still need the
// write-ahead log; after that it tries again behind every commit.
const eraseWait = time.Second

// Erase takes what was removed out of the write-ahead log as well. Where somebody
// still reads what was before, the log is emptied after they are done.
func (db *DB) Erase() {
	if db.reader != nil {
		return
	}
	tried := make(chan struct{})
	select {
	case db.erase <- tried:
		<-tried
	case <-db.quit: // who closes the file empties the log
	}
}

// truncateLog empties the write-ahead log. It says whether it could.
func truncateLog(conn *driver.Conn, wait time.Duration) bool {
	conn.SetBusyTimeout(wait)
	defer conn.SetBlockOnBusy() // as the driver opens it
	busy := true
	err := sqlitex.ExecuteTransient(conn, "PRAGMA wal_checkpoint(TRUNCATE)", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *driver.Stmt) error { busy = stmt.ColumnInt64(0) != 0; return nil },
	})
	return err == nil && !busy
}
