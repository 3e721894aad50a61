package httpapi

import (
	"context"
	"net/http"
	"strings"

	"sluice/internal/access"
)

// AuditLog keeps who changed what; *access.Audit is one.
type AuditLog interface {
	Begin(who access.Identity, address, action, target string) *access.Trail
	End(ctx context.Context, t *access.Trail, status int)
	Entries(ctx context.Context, s access.Search) (entries []access.Entry, next string, err error)
}

// auditor lets every change leave an entry in the audit log: with the change
// where that is in SQL, and with its outcome before it is answered.
type auditor struct {
	log AuditLog
	// actions are the ids of operations, by the patterns of their routes.
	actions map[string]string
}

// readsOnly are routes that change nothing though their method is one of change.
var readsOnly = map[string]bool{"POST /api/v1/sql": true, "POST /api/v1/sources/check": true}

// serve handles a request; one that changes something is noted.
func (a *auditor) serve(w http.ResponseWriter, r *http.Request, pattern string, who access.Identity, next http.Handler) {
	action := a.actions[pattern]
	if a.log == nil || action == "" || r.Method == http.MethodGet || r.Method == http.MethodHead || readsOnly[pattern] {
		next.ServeHTTP(w, r)
		return
	}
	address := who.Address
	if address == "" {
		address = callerAddress(r).String()
	}
	trail := a.log.Begin(who, address, action, r.URL.Path)
	out := &auditedAnswer{ResponseWriter: w}
	out.finish = func(status int) { //nolint:contextcheck // the request carries its context
		// Whoever is not known and was refused has changed nothing, and could
		// fill the log. An answer that is given again stands for nothing new: the
		// entry of the request that was carried out is there.
		if who.Role == "" && status >= http.StatusBadRequest || w.Header().Get(replayedHeader) != "" {
			return
		}
		a.log.End(r.Context(), trail, status)
	}
	returned := false
	defer func() {
		if !returned {
			out.done(http.StatusInternalServerError)
		}
	}()
	next.ServeHTTP(out, r.WithContext(access.WithTrail(r.Context(), trail)))
	returned = true
	out.done(http.StatusOK)
}

// auditedAnswer has the outcome noted before it is sent. Streams have none before
// their end.
type auditedAnswer struct {
	http.ResponseWriter
	finish func(status int)
	status int
	ended  bool
}

// done notes the outcome, once: the status that was sent, or else the given one.
func (a *auditedAnswer) done(otherwise int) {
	if a.ended {
		return
	}
	a.ended = true
	if a.status == 0 {
		a.status = otherwise
	}
	a.finish(a.status)
}

// WriteHeader implements http.ResponseWriter.
func (a *auditedAnswer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
		if !strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream") {
			a.done(status)
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *auditedAnswer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *auditedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
