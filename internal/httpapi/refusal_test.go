package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
)

// TestSecretsNeverShow sends a token in every way that could make the service
// repeat it, and looks for it in every answer and in the log.
func TestSecretsNeverShow(t *testing.T) {
	const token = "ghp_verysecretvalue"
	const apiToken = "api-verysecretvalue"
	c := newCaller(t, apitest.Options{APIToken: apiToken})
	c.http.Transport = apitest.Authorize{Token: apiToken}
	const accounts = "/api/v1/accounts"
	for body, status := range map[string]int{
		`{"source":"noop","login":"ann","token":"` + token + `"}`:               http.StatusCreated,
		`{"source":"nowhere","login":"ann","token":"` + token + `"}`:            http.StatusUnprocessableEntity,
		`{"source":"github","login":"not a login","token":"` + token + `"}`:     http.StatusUnprocessableEntity,
		`{"source":"noop","login":"ann","tokne":"` + token + `"}`:               http.StatusUnprocessableEntity,
		`{"source":"noop","login":"ann","token":"` + token + `\nof two lines"}`: http.StatusUnprocessableEntity,
		`{"source":"noop","login":"ann","token":["` + token + `"]}`:             http.StatusUnprocessableEntity,
		`{"source":"noop","login":"","token":"` + token + `"}`:                  http.StatusUnprocessableEntity,
		`{"source":"noop","login":"ann","token":"` + token + `"`:                http.StatusBadRequest,
		`"` + token + `"`: http.StatusUnprocessableEntity,
		token:             http.StatusBadRequest,
	} {
		c.do(http.MethodPost, accounts, body, status, nil)
	}
	c.do(http.MethodPost, accounts+"?token="+token, `{}`, http.StatusUnprocessableEntity, nil)
	c.http.Transport = apitest.Authorize{Token: token}
	c.refused(http.MethodGet, accounts, "", http.StatusUnauthorized, domain.CodeUnauthorized)
	c.http.Transport = apitest.Authorize{Token: apiToken}
	c.wait(1)
	for _, path := range []string{accounts, accounts + "/1", "/api/v1/runs/1?ledger=1", "/api/v1/jobs", "/api/v1/quota", "/api/openapi.json"} {
		c.do(http.MethodGet, path, "", http.StatusOK, nil)
	}
	for name, text := range map[string]string{"an answer": c.answers.String(), "the log": c.service.Log.String()} {
		if strings.Contains(text, "verysecret") {
			t.Errorf("%s shows a secret:\n%s", name, text)
		}
		if !strings.Contains(text, "accounts") {
			t.Errorf("%s was not looked at: %q", name, text)
		}
	}
}

func TestBadRequests(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	const unprocessable = http.StatusUnprocessableEntity
	for _, test := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/api/v1/runs?limit=", "", unprocessable, "query.limit"},
		{"GET", "/api/v1/jobs?status=", "", unprocessable, "query.status"},
		{"GET", "/api/v1/stats/leaderboard?by=", "", unprocessable, "query.by"},
		{"POST", "/api/v1/accounts", `{"source":"github"`, http.StatusBadRequest, "unexpected end"},
		{"POST", "/api/v1/accounts", "", http.StatusBadRequest, "required"},
		{"POST", "/api/v1/accounts", `{"source":"github","login":"ann"}`, unprocessable, "token"},
		{"POST", "/api/v1/accounts", `{"source":"noop","login":"ann","token":"t","extra":1}`, unprocessable, "extra"},
		{"POST", "/api/v1/accounts", `{"source":"nowhere","login":"ann","token":"t"}`, unprocessable, "there is no source"},
		{"POST", "/api/v1/accounts", strings.Repeat(" ", 1<<20) + "{}", http.StatusRequestEntityTooLarge, "large"},
		{"POST", "/api/v1/runs", `{"account_id":1,"priority":"URGENT"}`, unprocessable, "priority"},
		{"POST", "/api/v1/runs", `{"account_id":-1}`, unprocessable, "account_id"},
		{"GET", "/api/v1/runs?limit=0", "", unprocessable, "limit"},
		{"GET", "/api/v1/runs?limit=1001", "", unprocessable, "limit"},
		{"GET", "/api/v1/runs?before=-1", "", unprocessable, "before"},
		{"GET", "/api/v1/runs?befor=1", "", unprocessable, "befor"},
		{"GET", "/api/v1/runs/abc", "", unprocessable, "id"},
		{"GET", "/api/v1/runs/0/events", "", unprocessable, "id"},
		{"GET", "/api/v1/jobs?status=DONE", "", unprocessable, "status"},
		{"GET", "/api/v1/jobs?after=x", "", unprocessable, "after"},
		{"GET", "/api/v1/jobs?limit=100000", "", unprocessable, "limit"},
		{"PUT", "/api/v1/accounts", "", http.StatusMethodNotAllowed, "GET, HEAD, POST"},
		{"DELETE", "/api/v1/runs/1/cancel", "", http.StatusMethodNotAllowed, "POST"},
	} {
		p := c.refused(test.method, test.path, test.body, test.status, domain.CodeInvalid)
		text := p.Detail
		for _, d := range p.Errors {
			text += " " + d.Location + " " + d.Message
		}
		if !strings.Contains(text, test.says) {
			t.Errorf("%s %s: %q does not say %q", test.method, test.path, text, test.says)
		}
	}
	for _, path := range []string{"/nothing", "/api", "/api/v1/nothing", "/api/v1/runs/1/nothing"} {
		c.refused(http.MethodGet, path, "", http.StatusNotFound, domain.CodeNotFound)
	}
	c.refused(http.MethodGet, "/api/v1/runs/9/events", "", http.StatusNotFound, domain.CodeNotFound)
}

func TestOtherContentTypeIsRefused(t *testing.T) {
	f := newFake()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/runs", strings.NewReader(`{"account_id":1}`))
	r.Header.Set("Content-Type", "text/plain")
	w := httptest.NewRecorder()
	httpapi.New(f.deps(), httpapi.Options{}).ServeHTTP(w, r)
	if w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestErrorCodes has the state fail with each code.
func TestErrorCodes(t *testing.T) {
	for code, status := range map[domain.Code]int{
		domain.CodeInvalid: 422, domain.CodeNotFound: 404, domain.CodeConflict: 409, domain.CodeIllegalMove: 409, domain.CodeStale: 409,
		domain.CodeUnauthorized: 401, domain.CodeUnavailable: 503, domain.CodeCorrupt: 500, domain.CodeInternal: 500,
	} {
		f := newFake()
		f.err = domain.Errorf(code, "about %s", code)
		p := f.get(t, "/api/v1/runs/1", status)
		if p.Code != code {
			t.Errorf("%s came back as %s", code, p.Code)
		}
		if hidden := code == domain.CodeInternal; strings.Contains(p.Detail, "about") == hidden {
			t.Errorf("%s says %q", code, p.Detail)
		}
		if logged := strings.Contains(f.log.String(), "about "+string(code)); logged != (status == 500) {
			t.Errorf("%s: the log says %q", code, f.log.String())
		}
	}
}

func TestPanicIsAProblem(t *testing.T) {
	f := newFake()
	f.panics = true
	p := f.get(t, "/api/v1/runs/1", http.StatusInternalServerError)
	if p.Code != domain.CodeInternal || strings.Contains(p.Detail, "oh no") {
		t.Errorf("got %+v", p)
	}
	log := f.log.String()
	if !strings.Contains(log, "oh no") || !strings.Contains(log, "status=500") {
		t.Errorf("the log says %q", log)
	}
}

func TestRequestIsLoggedOnce(t *testing.T) {
	f := newFake()
	f.get(t, "/api/v1/runs/1?ledger=1", http.StatusOK)
	log := f.log.String()
	if strings.Count(log, "\n") != 1 || !strings.Contains(log, "path=/api/v1/runs/1 status=200") || strings.Contains(log, "ledger") {
		t.Errorf("the log says %q", log)
	}
}
