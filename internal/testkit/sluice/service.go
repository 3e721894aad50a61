package sluice

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/backoff"
)

// Address matches the address that a program serves at.
var Address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// AddressIn returns the last address in a text.
func AddressIn(t *testing.T, text string) string {
	t.Helper()
	all := Address.FindAllString(text, -1)
	if len(all) == 0 {
		t.Fatalf("there is no address in %q", text)
	}
	return all[len(all)-1]
}

// Service is a running `sluice up`.
type Service struct {
	*Program
	URL, Dir, Token string
}

// Up runs a service on a data folder of its own.
func Up(t *testing.T, u *Upstream, env []string, more ...string) *Service {
	t.Helper()
	s := &Service{Dir: t.TempDir()}
	s.Program = Start(t, env, append([]string{"up", "--addr", "127.0.0.1:0", "--data-dir", s.Dir, "--github-url", u.URL, "--floor", "0"}, more...)...)
	s.URL = AddressIn(t, s.Says("sluice serves http://"))
	return s
}

// UpIn runs a service on a data folder that outlives it.
func UpIn(t *testing.T, u *Upstream, dir string, env []string, more ...string) *Service {
	t.Helper()
	s := &Service{Dir: dir}
	s.Program = Start(t, env, append([]string{"up", "--addr", "127.0.0.1:0", "--data-dir", dir, "--github-url", u.URL}, more...)...)
	s.URL = AddressIn(t, s.Says("sluice serves http://"))
	return s
}

// Call makes a request and returns the status and the body, which shows no
// secret.
func (s *Service) Call(method, path, body string) (int, string) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.T.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.Token != "" {
		request.Header.Set("Authorization", "Bearer "+s.Token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.T.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	CheckNoSecret(s.T, method+" "+path, string(text))
	return response.StatusCode, string(text)
}

// Get makes a request that must succeed.
func (s *Service) Get(path string) string {
	s.T.Helper()
	status, text := s.Call(http.MethodGet, path, "")
	if status != http.StatusOK {
		s.T.Fatalf("GET %s: %d %s", path, status, text)
	}
	return text
}

// Signup adds an account and returns its run.
func (s *Service) Signup(login, token string) int {
	s.T.Helper()
	body, err := json.Marshal(map[string]string{"source": "github", "login": login, "token": token})
	if err != nil {
		s.T.Fatal(err)
	}
	status, text := s.Call(http.MethodPost, "/api/v1/accounts", string(body))
	if status != http.StatusCreated {
		s.T.Fatalf("signup: %d %s", status, text)
	}
	return Decode[struct{ Run struct{ ID int } }](s.T, text).Run.ID
}

// Completes follows a run until it has ended.
func (s *Service) Completes(run int) {
	s.T.Helper()
	status, stream := s.Call(http.MethodGet, fmt.Sprintf("/api/v1/runs/%d/events", run), "")
	if status != http.StatusOK || !strings.Contains(stream, `"COMPLETED"`) {
		s.T.Fatalf("run %d: %d %s", run, status, stream)
	}
}

// Dies lets the service live for a moment, and kills it.
func (s *Service) Dies(random *rand.Rand) {
	s.T.Helper()
	if !backoff.Sleep(s.T.Context(), time.Duration(100+random.IntN(1200))*time.Millisecond) {
		s.T.Fatal(s.T.Context().Err())
	}
	s.Signal(syscall.SIGKILL)
	_ = s.Wait()
}

// BeginAll begins a run of each account that has none, and returns all that are active.
func (s *Service) BeginAll(u *Upstream) (runs []int) {
	s.T.Helper()
	for _, login := range u.Logins() {
		_, _ = s.Call(http.MethodPost, "/api/v1/runs", fmt.Sprintf(`{"account":%q}`, login))
	}
	list := Decode[struct {
		Items []struct {
			ID     int
			Status string
		}
	}](s.T, s.Get("/api/v1/runs?limit=100"))
	for _, r := range list.Items {
		if r.Status != "COMPLETED" && r.Status != "FAILED" && r.Status != "CANCELED" {
			runs = append(runs, r.ID)
		}
	}
	return runs
}
