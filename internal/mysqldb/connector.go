package mysqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// session is what every connection begins with. The name of the variable for
// the isolation differs between MySQL and MariaDB; the statement does not.
var session = []string{
	"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
	// Strict, so that nothing is cut off or changed in silence.
	"SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = 5, autocommit = 1",
}

// connector prepares the session of each new connection.
type connector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	able, ok := conn.(driverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's connections cannot do what they are used for"), conn.Close())
	}
	for _, statement := range session {
		if _, err := able.ExecContext(ctx, statement, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return &connection{driverConn: able}, nil
}
