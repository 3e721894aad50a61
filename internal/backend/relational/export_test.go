package relational

// Observe tells fn every statement from now on. It must not be called while the
// database is used.
func (d *DB) Observe(fn func(query string, args []any)) { d.pool.observe = fn }
