package github

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"
)

// serveSim answers the simulator's own endpoints, which need no token and cost
// nothing: /_sim/truth/{login}, /_sim/audit, /_sim/logins, /_sim/tokens (a line
// "login token" for each account), POST /_sim/reset, and the orders below.
func (s *Server) serveSim(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/_sim/")
	login, isTruth := strings.CutPrefix(path, "truth/")
	switch {
	case isTruth:
		s.serveTruth(w, r, login)
	case path == "audit":
		writeJSON(w, http.StatusOK, s.Audit())
	case path == "logins":
		writeJSON(w, http.StatusOK, s.Logins())
	case path == "tokens":
		for _, login := range s.Logins() {
			_, _ = fmt.Fprintln(w, login, s.Token(login)) // a caller that hung up gets nothing
		}
	case path == "reset" && r.Method == http.MethodPost:
		s.ResetAudit()
		w.WriteHeader(http.StatusNoContent)
	default:
		s.serveOrder(w, r, path)
	}
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a caller that hung up gets nothing
}

func (s *Server) serveTruth(w http.ResponseWriter, r *http.Request, login string) {
	var at time.Time
	if value := r.URL.Query().Get("at"); value != "" {
		parsed, err := time.Parse(time.RFC3339, value)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, map[string]string{"message": "at must be an RFC 3339 time"})
			return
		}
		at = parsed
	}
	counts, err := s.TruthCounts(login, at)
	if err != nil {
		writeJSON(w, http.StatusNotFound, map[string]string{"message": err.Error()})
		return
	}
	if r.URL.Query().Get("counts") != "" {
		writeJSON(w, http.StatusOK, counts)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = s.WriteTruth(w, login, at) // headers are gone; a broken body tells
}

// truthChunk is how many entries are rendered at a time; the world is locked
// only meanwhile, never while writing to the caller.
const truthChunk = 1000

// WriteTruth streams the JSON of Truth in constant memory.
func (s *Server) WriteTruth(to io.Writer, login string, at time.Time) error {
	s.world.mu.RLock()
	subject, ok := s.world.subjectCalled(login)
	head := Truth{}
	if ok {
		head = s.world.truthHead(subject, truthInstant(at))
	}
	s.world.mu.RUnlock()
	if !ok {
		return fmt.Errorf("account %s does not exist", login)
	}
	out := &truthWriter{server: s, to: bufio.NewWriterSize(to, 64<<10), at: truthInstant(at)}
	out.raw(`{"profile":`)
	out.json(head.Profile)
	out.raw(`,"repositories":[`)
	out.repositories(subject)
	out.raw(`],"events":`)
	out.json(head.Events)
	if subject.account >= 0 && len(head.Members) > 0 {
		out.raw(`,"members":`)
		out.json(head.Members)
		out.raw(`,"teams":`)
		out.json(head.Teams)
	}
	out.raw("}\n")
	if out.err != nil {
		return out.err
	}
	return out.to.Flush()
}

// truthWriter remembers the first error, so that its users need not.
type truthWriter struct {
	server *Server
	to     *bufio.Writer
	at     int64
	err    error
}

func (t *truthWriter) raw(s string) {
	if t.err == nil {
		_, t.err = t.to.WriteString(s)
	}
}

func (t *truthWriter) json(value any) {
	encoded, err := json.Marshal(value)
	if err != nil {
		t.err = err
	}
	t.raw(string(encoded))
}

func (t *truthWriter) repositories(subject truthSubject) {
	w := t.server.world
	first := true
	for _, r := range subject.repos {
		w.mu.RLock()
		r := w.repo(r.birth, r.index)
		about, ok := r.truth(subject.eyes(r, t.at), t.at)
		commits, last := r.serials(), r.lastNumber()
		if about.holds() {
			about.Lost = w.truthLost(r, t.at)
			about.Parts = w.truthParts(r, t.at)
		}
		w.mu.RUnlock()
		if !ok {
			continue
		}
		if !first {
			t.raw(",")
		}
		first = false
		encoded, err := json.Marshal(about)
		if err != nil {
			t.err = err
		}
		t.raw(strings.TrimSuffix(string(encoded), `"commits":null,"issues":null,"pulls":null}`))
		if !about.holds() {
			commits, last = 0, 0
		}
		t.contents(r, commits, last)
	}
}

// contents writes what a repository holds.
func (t *truthWriter) contents(r *repo, commits, last int) {
	w := t.server.world
	t.raw(`"commits":[`)
	chunks(t, commits, func(from, to int) iter.Seq[TruthCommit] { return w.truthCommits(r, from, to, t.at) })
	t.raw(`],"issues":[`)
	chunks(t, last, func(from, to int) iter.Seq[TruthItem] { return w.truthItems(r, from+1, to, false, t.at) })
	t.raw(`],"pulls":[`)
	chunks(t, last, func(from, to int) iter.Seq[TruthItem] { return w.truthItems(r, from+1, to, true, t.at) })
	t.raw("]}")
}

// chunks writes a sequence piece by piece, holding the world's lock only while
// a piece is computed.
func chunks[T any](t *truthWriter, total int, piece func(from, to int) iter.Seq[T]) {
	first := true
	batch := make([]T, 0, min(total, truthChunk))
	for from := 0; from < total && t.err == nil; from += truthChunk {
		batch = batch[:0]
		t.server.world.mu.RLock()
		for entry := range piece(from, min(from+truthChunk, total)) {
			batch = append(batch, entry)
		}
		t.server.world.mu.RUnlock()
		for _, entry := range batch {
			if !first {
				t.raw(",")
			}
			first = false
			t.json(entry)
		}
	}
}
