package github

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"
)

// write sends the answer. The audit has it before the caller does.
func (c *call) write() {
	c.leave()
	h := c.writer.Header()
	c.standardHeaders(h)
	fault := c.fault
	if fault == nil {
		fault = &Fault{}
	}
	for name, values := range fault.Header {
		h[name] = values
	}
	if c.status == http.StatusNotModified {
		c.writer.WriteHeader(c.status)
		return
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", c.contentType)
	}
	if h.Get("Content-Length") == "" {
		h.Set("Content-Length", strconv.Itoa(len(c.out.b)+fault.Pad))
	}
	c.writer.WriteHeader(c.status)
	body := c.out.b
	if fault.Truncate || fault.Cut {
		body = body[:len(body)/2]
	}
	c.pad(fault.Pad)
	c.send(body, fault.Slow)
	if fault.Cut {
		c.cut()
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

// cut resets the connection after what was written so far.
func (c *call) cut() {
	_ = http.NewResponseController(c.writer).Flush() // what cannot be flushed is lost, as it may be
	c.reset()
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
