// Package sourcetest is what every source must pass, whatever its upstream
// answers.
package sourcetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// Factory makes sources for the cases.
type Factory struct {
	// New returns a source whose upstream is at a URL.
	New func(t *testing.T, url string) source.Source
	// Run is a run that can be planned, and Token its credential.
	Run   domain.Run
	Token string
	// Logins are some that the upstream cannot have.
	Logins []string
}

// Run checks each promise of the port.
func Run(t *testing.T, f Factory) {
	for name, check := range map[string]func(*testing.T, Factory){
		"NameIsThere":                nameIsThere,
		"DescribesItself":            describesItself,
		"ImpossibleLoginsAreRefused": impossibleLogins,
		"PlanMakesNoCall":            planMakesNoCall,
		"AskIsWhatACallTakes":        askIsWhatACallTakes,
		"OneCallAndAResult":          oneCallAndAResult,
		"NoCallWhenItHasEnded":       noCallWhenItHasEnded,
		"EndsWithItsContext":         endsWithItsContext,
		"UnknownJobsCostNothing":     unknownJobs,
	} {
		t.Run(name, func(t *testing.T) { check(t, f) })
	}
}

// upstream answers as a case wants, and counts.
type upstream struct {
	source.Source
	calls atomic.Int64
}

func (f Factory) upstream(t *testing.T, answer http.HandlerFunc) *upstream {
	t.Helper()
	u := &upstream{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.calls.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	u.Source = f.New(t, server.URL)
	return u
}

// silent must not be called.
func (f Factory) silent(t *testing.T) *upstream {
	t.Helper()
	u := f.upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	t.Cleanup(func() {
		if n := u.calls.Load(); n > 0 {
			t.Errorf("%d calls were made", n)
		}
	})
	return u
}

func (f Factory) plan(t *testing.T, s source.Source) []domain.JobSpec {
	t.Helper()
	specs, err := s.Plan(f.Run)
	if err != nil || len(specs) == 0 {
		t.Fatalf("planned %+v, %v", specs, err)
	}
	return specs
}

func (f Factory) call(spec domain.JobSpec) source.Call {
	return source.Call{Run: f.Run, Job: domain.Job{ID: 1, RunID: f.Run.ID, JobSpec: spec, Attempt: 1}, Token: f.Token}
}

func nameIsThere(t *testing.T, f Factory) {
	s := f.silent(t)
	if name := s.Name(); name == "" || name != strings.ToLower(name) || s.Name() != name {
		t.Errorf("the name is %q", name)
	}
}

// describesItself: what is declared is whole, and the rations of the first calls
// are declared.
func describesItself(t *testing.T, f Factory) {
	s := f.silent(t)
	d := s.Describe()
	if d.Name != s.Name() || d.Title == "" {
		t.Errorf("%s describes itself as %q, %q", s.Name(), d.Name, d.Title)
	}
	if err := d.Kinds.Check(); err != nil {
		t.Error(err)
	}
	buckets := d.Quota(1).Buckets
	for _, spec := range f.plan(t, s) {
		if _, ok := buckets[spec.Bucket]; !ok {
			t.Errorf("%s draws on %s, which is not declared: %v", spec.Type, spec.Bucket, buckets)
		}
	}
}

func impossibleLogins(t *testing.T, f Factory) {
	s := f.silent(t)
	if err := s.CheckLogin(f.Run.Login); err != nil {
		t.Errorf("%q is refused: %v", f.Run.Login, err)
	}
	for _, login := range append([]string{"", "a\x00b", "a\nb", "../x", strings.Repeat("x", 500)}, f.Logins...) {
		if err := s.CheckLogin(login); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q: %v", login, err)
		}
	}
}

func planMakesNoCall(t *testing.T, f Factory) {
	s := f.silent(t)
	specs := f.plan(t, s)
	if again := f.plan(t, s); !reflect.DeepEqual(specs, again) {
		t.Errorf("planned %+v, and then %+v", specs, again)
	}
	seen := map[string]bool{}
	for _, spec := range specs {
		key := spec.Type + " " + spec.Resource + " " + string(spec.Params)
		if seen[key] {
			t.Errorf("planned twice: %+v", spec)
		}
		seen[key] = true
	}
}

func askIsWhatACallTakes(t *testing.T, f Factory) {
	s := f.silent(t)
	for _, spec := range f.plan(t, s) {
		ask, err := s.Ask(spec, "somebody")
		if err != nil || ask.Owner != "somebody" || ask.Bucket == "" || ask.Bucket != spec.Bucket || ask.Cost < 1 {
			t.Errorf("%+v asks for %+v, %v", spec, ask, err)
		}
	}
}

// answers are what upstreams, and what stands before them, say on bad days.
var answers = map[string]http.HandlerFunc{
	"nothing":           status(http.StatusOK, ""),
	"no JSON":           status(http.StatusOK, "<html>out of order</html>"),
	"other JSON":        status(http.StatusOK, `"a text"`),
	"null":              status(http.StatusOK, `null`),
	"a cut body":        cutBody,
	"no answer":         noAnswer,
	"unchanged":         status(http.StatusNotModified, ""),
	"bad request":       status(http.StatusBadRequest, `{}`),
	"bad credentials":   status(http.StatusUnauthorized, `{"message":"Bad credentials"}`),
	"forbidden":         status(http.StatusForbidden, `{"message":"no"}`),
	"not found":         status(http.StatusNotFound, `{"message":"Not Found"}`),
	"gone":              status(http.StatusGone, `{}`),
	"too many requests": status(http.StatusTooManyRequests, `{}`),
	"blocked":           status(http.StatusUnavailableForLegalReasons, `{}`),
	"server error":      status(http.StatusInternalServerError, ``),
	"bad gateway":       status(http.StatusBadGateway, `<html></html>`),
	"away":              status(http.StatusServiceUnavailable, ``),
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		// Waiting is the engine's business, however long it is.
		w.Header().Set("Retry-After", "86400")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

func cutBody(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(`{"data":`))
}

// noAnswer cuts the connection.
func noAnswer(w http.ResponseWriter, _ *http.Request) {
	if hijacker, ok := w.(http.Hijacker); ok {
		if conn, _, err := hijacker.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}

// oneCallAndAResult: whatever comes back, there is one call, a verdict, and
// unless all is well a reason that shows no credential.
func oneCallAndAResult(t *testing.T, f Factory) {
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			u := f.upstream(t, answer)
			for _, spec := range f.plan(t, u) {
				before := u.calls.Load()
				r := u.Call(t.Context(), f.call(spec))
				// A cut connection may be dialled again by what carries requests;
				// the call was never answered.
				if n := u.calls.Load() - before; n != 1 && (name != "no answer" || n < 1) {
					t.Errorf("%s made %d calls", spec.Type, n)
				}
				checkResult(t, f, spec, r)
				if name == "bad credentials" && r.Verdict != source.PauseAccount {
					t.Errorf("%s: a refused credential is %+v", spec.Type, r)
				}
				if name == "too many requests" && r.Verdict != source.Wait {
					t.Errorf("%s: a limit that was hit is %+v", spec.Type, r)
				}
			}
		})
	}
}

func checkResult(t *testing.T, f Factory, spec domain.JobSpec, r source.Result) {
	t.Helper()
	if r.Verdict < source.Done || r.Verdict > source.PauseAccount {
		t.Errorf("%s: there is no verdict %d", spec.Type, r.Verdict)
	}
	if r.Verdict != source.Done && (r.Failure == nil || r.Failure.Message == "" || r.Failure.Kind == domain.FailureNone) {
		t.Errorf("%s: verdict %d has no reason: %+v", spec.Type, r.Verdict, r.Failure)
	}
	if r.Failure != nil && strings.Contains(r.Failure.Error(), f.Token) {
		t.Errorf("%s: the failure shows the credential", spec.Type)
	}
	if r.Verdict != source.Done && len(r.Absences)+len(r.Cursors) > 0 && r.Failure.Kind == domain.FailureConnection {
		t.Errorf("%s: without an answer something is known: %+v", spec.Type, r)
	}
	if r.RetryAfter < 0 || r.Items < 0 || r.Pages < 0 {
		t.Errorf("%s: %+v", spec.Type, r)
	}
}

func noCallWhenItHasEnded(t *testing.T, f Factory) {
	u := f.silent(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, spec := range f.plan(t, u) {
		r := u.Call(ctx, f.call(spec))
		checkResult(t, f, spec, r)
		if !r.Free || r.Verdict != source.Retry && r.Verdict != source.Wait {
			t.Errorf("%s: %+v, want a free call that is tried again", spec.Type, r)
		}
	}
}

// endsWithItsContext: a call under way ends when its context does, and nothing
// says that it cost nothing.
func endsWithItsContext(t *testing.T, f Factory) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	u := f.upstream(t, func(http.ResponseWriter, *http.Request) {
		cancel()
		<-ended
	})
	spec := f.plan(t, u)[0]
	r := u.Call(ctx, f.call(spec))
	close(ended)
	checkResult(t, f, spec, r)
	if r.Free || r.Verdict != source.Retry && r.Verdict != source.Wait {
		t.Errorf("%+v, want a call that may have cost something and is tried again", r)
	}
}

func unknownJobs(t *testing.T, f Factory) {
	u := f.silent(t)
	spec := f.plan(t, u)[0]
	spec.Type = "NO_SUCH_JOB"
	r := u.Call(t.Context(), f.call(spec))
	checkResult(t, f, spec, r)
	if r.Verdict != source.Fail || !r.Free {
		t.Errorf("%+v, want a failure that cost nothing", r)
	}
}
