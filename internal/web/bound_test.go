package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"sluice/internal/web"
)

// endless is a body that tells how much of it was read.
type endless struct{ left, read int }

func (e *endless) Read(p []byte) (int, error) {
	n := min(len(p), e.left)
	for i := range n {
		p[i] = 'x'
	}
	e.left -= n
	e.read += n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestLittleIsReadOfStrangers: whoever has no login cannot have the service hold large
// forms.
func TestLittleIsReadOfStrangers(t *testing.T) {
	h := site(t, "s3cret-s3cret-s3cret", web.Options{})
	for _, path := range []string{"/act/add-source", "/act/start-run", "/act/nothing", "/login", "/logout"} {
		body := &endless{left: 1 << 20}
		r := httptest.NewRequest(http.MethodPost, "http://sluice.example"+path, body)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if body.read > 80<<10 || w.Code < 400 {
			t.Errorf("%s: %d after %d bytes of a stranger's", path, w.Code, body.read)
		}
	}
}
