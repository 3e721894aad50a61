package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/httpapi"
)

// ask makes one request without a network and returns the status.
func ask(h http.Handler, method, url string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func guarded(token string) http.Handler {
	d := newFake().deps()
	d.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return httpapi.New(d, httpapi.Options{APIToken: token})
}

func TestToken(t *testing.T) {
	h := guarded("s3cret")
	for path, open := range map[string]bool{
		"/api/v1/runs": false, "/api/v1/runs/1": false, "/metrics": false, "/api/v1/": false, "/api/v1": false,
		"/livez": true, "/readyz": true, "/api/openapi.json": true,
	} {
		for _, header := range []string{"", "Bearer wrong", "Bearer", "Bearer ", "Basic s3cret", "s3cret", "Bearer s3cret2", "Bearer s3cre"} {
			w := ask(h, http.MethodGet, "http://sluice.example"+path, "Authorization", header)
			if (w.Code == http.StatusUnauthorized) == open {
				t.Errorf("%s with %q: got %d", path, header, w.Code)
			}
			if !open && (w.Header().Get("WWW-Authenticate") == "" || !strings.Contains(w.Body.String(), `"code":"unauthorized"`)) {
				t.Errorf("%s: the refusal is %v %s", path, w.Header(), w.Body)
			}
		}
		for _, header := range []string{"Bearer s3cret", "bearer s3cret"} {
			if w := ask(h, http.MethodGet, "http://sluice.example"+path, "Authorization", header); w.Code == http.StatusUnauthorized {
				t.Errorf("%s with %q: got %d", path, header, w.Code)
			}
		}
	}
}

func TestRebinding(t *testing.T) {
	h := guarded("")
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8090": 200, "LOCALHOST:1": 200, "127.0.0.1:8090": 200, "127.0.0.1": 200, "[::1]:8090": 200, "[::1]": 200,
		"evil.example": 403, "evil.example:8090": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403,
		"10.0.0.1:8090": 403, "169.254.1.1": 403,
	} {
		for _, path := range []string{"/api/v1/runs", "/livez", "/metrics"} {
			if w := ask(h, http.MethodGet, "http://"+host+path); w.Code != want {
				t.Errorf("host %s, path %s: got %d, want %d", host, path, w.Code, want)
			}
		}
	}
}

func TestForeignOrigin(t *testing.T) {
	h := guarded("")
	for _, test := range []struct {
		header, value string
		refused       bool
	}{
		{"Origin", "http://evil.example", true},
		{"Origin", "http://localhost:3000", true},
		{"Origin", "null", true},
		{"Sec-Fetch-Site", "cross-site", true},
		{"Origin", "http://localhost:8090", false},
		{"Sec-Fetch-Site", "same-origin", false},
		{"X-Nothing", "", false},
	} {
		w := ask(h, http.MethodPost, "http://localhost:8090/api/v1/runs", test.header, test.value)
		if (w.Code == http.StatusForbidden) != test.refused {
			t.Errorf("%s %s: got %d", test.header, test.value, w.Code)
		}
	}
}

func TestListen(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0"} {
		_, err := httpapi.Listen(addr, "")
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "--api-token") {
			t.Errorf("%s without a token: %v", addr, err)
		}
	}
	for addr, token := range map[string]string{"127.0.0.1:0": "", "localhost:0": "", "0.0.0.0:0": "s3cret"} {
		l, err := httpapi.Listen(addr, token)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if _, err := httpapi.Listen(l.Addr().String(), token); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("listening twice on %s: %v", l.Addr(), err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := httpapi.Listen("127.0.0.1:http:x", ""); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a wrong address: %v", err)
	}
}
