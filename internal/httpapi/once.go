package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/httpapi/answer"
	"sluice/internal/idempotency"
)

const (
	// keyHeader has the key by which a request is known when it comes again, and
	// replayedHeader marks an answer that was given before.
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
	longestKey     = 255
	// largestKept bounds the answers that are kept, and largestKeyed the requests
	// that may have a key.
	largestKept, largestKeyed = 1 << 20, 1 << 20
	// keepPatience is how long keeping an answer may take.
	keepPatience = 10 * time.Second
)

// Keys has requests carried out once that are sent more often;
// *idempotency.Keeper is one.
type Keys interface {
	Take(ctx context.Context, caller, key string, of idempotency.Fingerprint) (*idempotency.Turn, *idempotency.Answer, error)
}

// keyParameter describes the key of a request.
func keyParameter() *huma.Param {
	shortest, longest := 1, longestKey
	return &huma.Param{
		Name: keyHeader, In: "header",
		Description: "A text of your choice, such as a UUID, that names this request. Sent again with it within 24 hours, it is not carried out again but " +
			"answered as before. With another body it is refused (422), and while it is being carried out as well (409).",
		Schema:  &huma.Schema{Type: huma.TypeString, MinLength: &shortest, MaxLength: &longest, Pattern: "^[!-~]+$"},
		Example: "0199e3b2-7c1f-7aa2-9d6e-5b1f0c2d3e4f",
	}
}

// findKeyed finds the operations that take a key: those that create or change
// something each time, and whose answer is not a stream. Webhooks have names of
// their own, and what only reads may be repeated.
func (s *server) findKeyed(doc *huma.OpenAPI) {
	s.keyed, s.streamed = map[string]bool{}, map[string]bool{}
	for op := range operations(doc) {
		if op.Method != http.MethodPost || s.takesHooksAt(op.Path) || readsOnly[op.Method+" "+op.Path] {
			continue
		}
		pattern := op.Method + " " + op.Path
		if answer := op.Responses["200"]; answer != nil && answer.Content["text/event-stream"] != nil {
			s.streamed[pattern] = true
			continue
		}
		s.keyed[pattern] = true
	}
}

// once carries out requests with a key once.
func (s *server) once(keys Keys, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Values(keyHeader)
		if len(given) == 0 || r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		_, pattern := s.mux.Handler(r)
		switch {
		case s.streamed[pattern]:
			writeProblem(w, newProblem(domain.CodeInvalid, http.StatusUnprocessableEntity,
				"this takes no "+keyHeader+": its answer is a stream, and it may be repeated without harm"))
		case !s.keyed[pattern]:
			next.ServeHTTP(w, r)
		case keys == nil:
			writeProblem(w, newProblem(domain.CodeNotFound, http.StatusNotFound, "this service keeps no answers for an "+keyHeader))
		default:
			s.serveOnce(keys, strings.Join(given, ", "), next, w, r)
		}
	})
}

func (s *server) serveOnce(keys Keys, key string, next http.Handler, w http.ResponseWriter, r *http.Request) {
	key = strings.TrimSuffix(strings.TrimPrefix(key, `"`), `"`)
	if unfit := func(c rune) bool { return c <= ' ' || c > '~' }; key == "" || len(key) > longestKey || strings.ContainsFunc(key, unfit) {
		writeProblem(w, newProblem(domain.CodeInvalid, http.StatusUnprocessableEntity,
			keyHeader+" has 1 to 255 visible characters without spaces, such as those of a UUID"))
		return
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, largestKeyed+1))
	r.Body = replaced{io.MultiReader(bytes.NewReader(text), r.Body), r.Body}
	if err != nil || len(text) > largestKeyed {
		// It is refused where all are that are cut off or too large.
		next.ServeHTTP(w, r)
		return
	}
	of := idempotency.FingerprintOf([]byte(r.Method), []byte(r.URL.Path), []byte(r.URL.RawQuery), text)
	// What the key takes is no change that was asked for: the entry of that is stored
	// when it is known on what.
	turn, before, err := keys.Take(access.WithoutTrail(r.Context()), keyholderOf(r.Context()), key, of)
	switch {
	case err != nil:
		writeProblem(w, s.problem(r.Context(), keyHeader, err))
	case before != nil:
		w.Header().Set(replayedHeader, "true")
		send(w, *before)
	default:
		s.carryOutOnce(turn, next, w, r)
	}
}

// replaced is a body of which a part was read already.
type replaced struct {
	io.Reader
	io.Closer
}

// carryOutOnce keeps the answer before it is sent: whoever has seen it gets the
// same again.
func (s *server) carryOutOnce(turn *idempotency.Turn, next http.Handler, w http.ResponseWriter, r *http.Request) {
	written := &answer.Held{}
	finished := false
	// Whatever becomes of the caller.
	lasting := access.WithoutTrail(context.WithoutCancel(r.Context()))
	defer func() {
		if finished {
			return
		}
		ctx, cancel := context.WithTimeout(lasting, keepPatience)
		defer cancel()
		// Nothing came of it, or it panics: it may be sent again.
		if err := turn.Abandon(ctx); err != nil {
			s.Log.ErrorContext(ctx, "a request's key was not given up; it can be sent again in some minutes", "error", err)
		}
	}()
	next.ServeHTTP(written, r)
	out := idempotency.Answer{Status: written.Ended().Status, Header: written.Header(), Body: written.Body.Bytes()}
	if kept(out.Status) {
		ctx, cancel := context.WithTimeout(lasting, keepPatience)
		defer cancel()
		if err := turn.Finish(ctx, keepable(out)); err != nil {
			s.Log.ErrorContext(ctx, "the answer to a request with a key was not kept", "error", err)
		}
		finished = true
	}
	send(w, out)
}

// kept reports whether an answer stands. What failed for a reason that is not the
// request's own may be tried again.
func kept(status int) bool {
	return status < http.StatusInternalServerError && !slices.Contains([]int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests,
	}, status)
}

// keepable is the answer that is given again; one that is too large says so.
func keepable(a idempotency.Answer) idempotency.Answer {
	if len(a.Body) <= largestKept {
		return a
	}
	text, _ := json.Marshal(newProblem(domain.CodeConflict, http.StatusConflict,
		"this request was carried out; its answer was too large to be kept").Problem)
	return idempotency.Answer{Status: http.StatusConflict, Header: http.Header{"Content-Type": {problemType}}, Body: text}
}

func send(w http.ResponseWriter, a idempotency.Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	// A caller that went away gets no more.
	_, _ = w.Write(a.Body)
}
