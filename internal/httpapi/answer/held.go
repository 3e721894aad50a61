// Package answer has answers of HTTP handlers that are not simply sent: Held is kept
// in memory, for those who look at it first or make something else of it; While ends
// when whoever it is for may not have it any longer.
package answer

import (
	"bytes"
	"net/http"
)

// Held is an answer that is not sent yet. Its zero value has not begun.
type Held struct {
	// Status is 0 until the answer begins; Ended sets it for one that says nothing.
	Status int
	Body   bytes.Buffer
	header http.Header
}

// Ended is the answer of a handler that has returned.
func (a *Held) Ended() *Held {
	a.WriteHeader(http.StatusOK)
	return a
}

// Header implements http.ResponseWriter.
func (a *Held) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader implements http.ResponseWriter: the first status counts.
func (a *Held) WriteHeader(status int) {
	if a.Status == 0 {
		a.Status = status
	}
}

// Write implements http.ResponseWriter.
func (a *Held) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.Body.Write(p)
}

// Flush implements http.Flusher. Nothing is sent by it.
func (a *Held) Flush() { a.WriteHeader(http.StatusOK) }
