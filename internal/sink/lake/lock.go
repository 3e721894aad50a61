package lake

import (
	"os"
	"path/filepath"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/domain"
)

// lock is an open transaction on a file of its own: the system ends it with the
// process, however that ends.
type lock struct{ conn *driver.Conn }

func takeLock(path string) (*lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "make the folder of the lake: %w", err)
	}
	conn, err := driver.OpenConn(path, driver.OpenReadWrite|driver.OpenCreate)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "open the lock of the lake: %w", err)
	}
	conn.SetBusyTimeout(0)
	if err := sqlitex.ExecuteTransient(conn, "BEGIN EXCLUSIVE", nil); err != nil {
		code := driver.ErrCode(err).ToPrimary()
		_ = conn.Close() // what matters is why it is not locked
		if code == driver.ResultBusy {
			return nil, domain.Errorf(domain.CodeUnavailable, "another process of this machine writes to this lake; end it, or wait until it has ended")
		}
		return nil, domain.Errorf(domain.CodeUnavailable, "lock the lake: %w", err)
	}
	return &lock{conn}, nil
}

func (l *lock) release() {
	if l != nil {
		_ = l.conn.Close() // which gives it up
	}
}
