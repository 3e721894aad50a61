package maplestory

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"
)

// pause waits out the latency; false when the caller is gone.
func (c *call) pause(fault *Fault) bool {
	wait := c.server.options.Latency.draw() + time.Duration(c.server.slowness.Load())
	if fault != nil {
		wait += fault.Delay
	}
	c.gone = !c.sleep(wait)
	return !c.gone
}

// sleep waits; false when the caller is gone.
func (c *call) sleep(wait time.Duration) bool {
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.req.Context().Done():
		return false
	}
}

// deliver writes the answer, or what the fault makes of it. The audit has it
// before the caller does.
func (c *call) deliver(fault *Fault) {
	c.faulty = fault.spoils()
	if fault == nil {
		fault = &Fault{}
	}
	if fault.Reset {
		c.hangUp()
		return
	}
	h := c.writer.Header()
	h["Content-Type"] = []string{"application/json; charset=utf-8"}
	if fault.Status != 0 {
		c.status = fault.Status
		c.out = append(c.out[:0], fault.Body...)
	}
	for name, values := range fault.Header {
		h[name] = values
	}
	c.leave()
	h["Content-Length"] = []string{strconv.Itoa(len(c.out) + fault.Pad)}
	h["Date"] = []string{c.now.UTC().Format(http.TimeFormat)}
	c.writer.WriteHeader(c.status)
	body := c.out
	if fault.Truncate || fault.Cut {
		body = body[:len(body)/2]
	}
	c.pad(fault.Pad)
	c.send(body, fault.Slow)
	if fault.Cut {
		_ = http.NewResponseController(c.writer).Flush() // what cannot be flushed is lost, as it may be
		c.reset()
	}
}

var blanks = bytes.Repeat([]byte{' '}, 64<<10)

// pad writes blanks, which JSON allows in front of a value.
func (c *call) pad(n int) {
	for n > 0 {
		sent, err := c.writer.Write(blanks[:min(n, len(blanks))])
		if err != nil {
			return
		}
		n -= sent
	}
}

// drops is in how many pieces a slow body is sent.
const drops = 20

// send writes the body, spread over a time if one is given.
func (c *call) send(body []byte, over time.Duration) {
	if over <= 0 {
		_, _ = c.writer.Write(body) // a caller that hung up gets nothing
		return
	}
	flush := http.NewResponseController(c.writer)
	size := len(body)/drops + 1
	for len(body) > 0 {
		n := min(size, len(body))
		if _, err := c.writer.Write(body[:n]); err != nil {
			return
		}
		body = body[n:]
		_ = flush.Flush() // a writer that cannot flush sends all at the end
		if !c.sleep(over / drops) {
			return
		}
	}
}

// hangUp drops the connection with a reset instead of an orderly close.
func (c *call) hangUp() {
	c.leave()
	if !c.reset() {
		c.writer.WriteHeader(http.StatusBadGateway)
	}
}

// reset ends the connection without a farewell; false when there is none.
func (c *call) reset() bool {
	conn, _, err := http.NewResponseController(c.writer).Hijack()
	if err != nil {
		return false
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
	return true
}
