package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"sluice/internal/domain"
)

// action carries out what a form asks for, by calls of the API, and says what was
// done. It may lead to another page by setting next.
type action func(ctx context.Context, v *visit, f url.Values) (string, error)

// makesToken is the action whose answer is a secret.
const makesToken = "create-token"

// actions are what forms can ask for. Who may do what is the API's to decide.
var actions = map[string]action{
	"add-account": addAccount, "start-run": startRun, "pause-account": pauseAccount, "resume-account": resumeAccount, "renew-token": renewToken,
	"set-schedule": setSchedule, "purge-account": purgeAccount,
	"cancel-run": cancelRun, "resume-run": resumeRun, "set-priority": setPriority, "cancel-runs": cancelRuns,
	"retry-job": retryJob, "retry-jobs": retryJobs, "cancel-jobs": cancelJobs,
	"redrive-sink": redriveSink, "discard-sink": discardSink,
	addsSource: addSource, "remove-source": removeSource, "probe-source": probeSource,
	"save-query": saveQuery, "remove-query": removeQuery,
	"refresh": refreshKey, "redrive": redrive, "discard": discard,
	"set-timer": setTimer, "move-timer": moveTimer, "cancel-timer": cancelTimer, "redeliver-timer": redeliverTimer, "detect-missed": detectMissed,
	makesToken: createToken, "revoke-token": revokeToken, "reset-quota": resetQuota,
}

// act does what a form asks for, and leads back to a page that says so.
func (s *site) act(w http.ResponseWriter, r *http.Request) {
	if !s.fromOwnPage(w, r) {
		return
	}
	v, err := s.visit(r)
	if hasEnded(v, err) && v.calls.status(w, err) == http.StatusUnauthorized {
		if tokenOf(r) != "" {
			// A store that does not answer keeps what is of no use.
			_ = s.end(w, r)
		}
		lostForms{s}.ended(w, r)
		return
	}
	if err != nil {
		s.fail(w, r, v, err)
		return
	}
	do, ok := actions[r.PathValue("name")]
	if !ok {
		s.fail(w, r, v, domain.Errorf(domain.CodeNotFound, "there is no such action"))
		return
	}
	done, err := do(r.Context(), v, r.PostForm)
	if err == nil && r.PathValue("name") == makesToken {
		// It is a secret: it goes to this answer, and nowhere else.
		s.render(w, r, http.StatusOK, &page{Title: "A new token", Template: "token.html", Nav: "system", Data: done}, v)
		return
	}
	next := local(r.PostForm.Get("next"))
	if err != nil {
		s.showAgain(w, r, next, &refusedForm{action: r.PathValue("name"), form: r.PostForm, text: message(err), status: v.calls.status(w, err)})
		return
	}
	s.say(w, r, done)
	s.redirect(w, r, next)
}

// refusedForm is a form that was refused, so that the page which had it can show what
// was typed.
type refusedForm struct {
	action string
	form   url.Values
	text   string
	status int
}

type refusedKey struct{}

func refusedOf(r *http.Request) *refusedForm {
	f, _ := r.Context().Value(refusedKey{}).(*refusedForm)
	return f
}

// showAgain answers a form that was refused with the page that it stands on.
func (s *site) showAgain(w http.ResponseWriter, r *http.Request, at string, f *refusedForm) {
	if f.status == http.StatusUnauthorized {
		f.status = http.StatusForbidden
	}
	// local has read it already.
	u, _ := url.Parse(at)
	again := r.Clone(context.WithValue(r.Context(), refusedKey{}, f))
	again.Method, again.URL, again.Form, again.PostForm, again.Body = http.MethodGet, u, nil, nil, http.NoBody
	if _, pattern := s.mux.Handler(again); pattern == "" || strings.HasPrefix(pattern, "GET /assets/") {
		again.URL = &url.URL{Path: "/"}
	}
	s.mux.ServeHTTP(w, again)
}
