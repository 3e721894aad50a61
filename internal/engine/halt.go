package engine

import "sync"

// haltReason is why an engine stopped by itself.
type haltReason struct {
	once sync.Once
	done chan struct{} // closed when err is set
	err  error
}

func newHaltReason() *haltReason { return &haltReason{done: make(chan struct{})} }

// halt begins no further job: what is stored cannot be trusted any more, and
// every call would be paid for in vain. A person must act.
func (c *core) halt(err error) {
	c.halted.once.Do(func() {
		c.cfg.Log.Error("the engine stops", "error", err)
		c.halted.err = err
		close(c.halted.done)
		c.watchers.Notify()
	})
}

// Failed is closed when the engine has stopped by itself; Err tells why. It is
// of no use from then on, and its process should end.
func (c *core) Failed() <-chan struct{} { return c.halted.done }

// Err returns why the engine has stopped by itself, nil if it has not.
func (c *core) Err() error {
	select {
	case <-c.halted.done:
		return c.halted.err
	default:
		return nil
	}
}
