// Package fakebucket is where tests keep archives: a server of the protocol of S3,
// and memory.
package fakebucket

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Name is the bucket that there is.
const Name = "history-of-values"

// The keys that servers are asked with.
const (
	KeyID  = "AKIASWORDFISH"
	Secret = "swordfish-s3cret"
)

// Environment is what a program finds the keys by, and nothing else: not what
// the machine that tests run on has.
func Environment() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": KeyID, "AWS_SECRET_ACCESS_KEY": Secret, "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "",
	}
}

// S3 is a server of the protocol with one bucket.
type S3 struct {
	// URL is where it listens.
	URL string

	mu       sync.Mutex
	requests []*http.Request
}

// StartS3 starts a server that ends with the test, and lets the test's own
// process have its keys.
func StartS3(t testing.TB) *S3 {
	t.Helper()
	for name, value := range Environment() {
		t.Setenv(name, value)
	}
	backend := s3mem.New()
	if err := backend.CreateBucket(Name); err != nil {
		t.Fatal(err)
	}
	s := &S3{}
	next := gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.note(r)
		// The server takes any signature, but there has to be one by the key.
		if !strings.Contains(r.Header.Get("Authorization"), "Credential="+KeyID+"/") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Place is the address of the bucket as an archive's.
func (s *S3) Place(more string) string { return "s3://" + Name + "?endpoint=" + s.URL + more }

func (s *S3) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Clone(r.Context()))
}

// Requests are those that came so far.
func (s *S3) Requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[:len(s.requests):len(s.requests)]
}
