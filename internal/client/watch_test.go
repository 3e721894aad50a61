package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source"
)

// TestWatchAll follows two runs on one stream and then has the service stop.
func TestWatchAll(t *testing.T) {
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	c, s := start(t, apitest.Options{OnCall: func(source.Call) (source.Result, bool) { <-gate; return source.Result{}, false }})
	t.Cleanup(open)
	ctx := t.Context()
	ok[wire.SignupAnswer](t)(c.Signup(ctx, engine.Signup{Source: "noop", Login: "ann", Token: "t1"}))
	completed := map[int64]bool{}
	var broken error
	for p, err := range c.Watch(ctx) {
		if err != nil {
			broken = err
			break
		}
		if p.ID == 1 && p.Status == domain.RunRunning {
			open()
		}
		if p.Status != domain.RunCompleted {
			continue
		}
		if completed[p.ID] = true; p.ID == 1 {
			ok[wire.SignupAnswer](t)(c.Signup(ctx, engine.Signup{Source: "noop", Login: "bob", Token: "t2"}))
		} else {
			s.Lifecycle.Stopping()
		}
	}
	if !completed[1] || !completed[2] {
		t.Errorf("completed were %v", completed)
	}
	if domain.CodeOf(broken) != domain.CodeUnavailable || !strings.Contains(broken.Error(), "broke off") {
		t.Errorf("the stream ended with %v", broken)
	}
}

func TestWatchOfEndedRun(t *testing.T) {
	c, s := start(t, apitest.Options{})
	ok[wire.SignupAnswer](t)(c.Signup(t.Context(), engine.Signup{Source: "noop", Login: "ann", Token: "t1"}))
	want := s.Wait(t, 1)
	var got []domain.Run
	for p, err := range c.WatchRun(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p.Run)
	}
	if len(got) != 1 || got[0].Status != want.Status || got[0].Calls != want.Calls {
		t.Errorf("got %+v, want %+v once", got, want)
	}
}

// scripted serves one stream that says what it is told.
func scripted(t *testing.T, text string) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
	t.Cleanup(server.Close)
	return newClient(t, server.URL, "")
}

func TestOddStreams(t *testing.T) {
	const running = `{"id":1,"status":"RUNNING","priority":"HIGH"}`
	for what, test := range map[string]struct {
		text   string
		events int
		code   domain.Code
		says   string
	}{
		"cut off":       {"event: progress\ndata: " + running + "\n\nevent: prog", 1, domain.CodeUnavailable, "broke off"},
		"nothing":       {"", 0, domain.CodeUnavailable, "broke off"},
		"comments":      {": heartbeat\n\n: heartbeat\n\nevent:progress\ndata:" + running + "\n\n", 1, domain.CodeUnavailable, "broke off"},
		"unknown event": {"event: later\ndata: 7\n\nevent: progress\ndata: " + running + "\n\n", 1, domain.CodeUnavailable, "broke off"},
		"not JSON":      {"event: progress\ndata: <html>\n\n", 0, domain.CodeUnavailable, "broke off"},
		"problem":       {"event: error\ndata: {\"code\":\"corrupt\",\"detail\":\"the file is damaged\"}\n\n", 0, domain.CodeCorrupt, "the file is damaged"},
	} {
		events, last := 0, error(nil)
		for _, err := range scripted(t, test.text).WatchRun(t.Context(), 1) {
			if last = err; err == nil {
				events++
			}
		}
		if events != test.events || domain.CodeOf(last) != test.code || !strings.Contains(fmt.Sprint(last), test.says) {
			t.Errorf("%s: got %d events and %v of code %s", what, events, last, domain.CodeOf(last))
		}
	}
}

// mute answers with a stream that says a few things and then nothing.
type mute struct{ says string }

func (m mute) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	go func() {
		_, err := io.WriteString(w, m.says)
		<-r.Context().Done()
		w.CloseWithError(errors.Join(err, r.Context().Err()))
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
}

func TestSilenceIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New("http://localhost", "", &http.Client{Transport: mute{"event: progress\ndata: {\"status\":\"RUNNING\",\"priority\":\"LOW\"}\n\n"}})
		if err != nil {
			t.Fatal(err)
		}
		began, events := time.Now(), 0
		for _, err = range c.WatchRun(t.Context(), 1) {
			if err == nil {
				events++
				time.Sleep(time.Hour) // a slow caller is not a silent service
			}
		}
		if events != 1 || domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "stopped answering") {
			t.Errorf("got %d events and %v", events, err)
		}
		if waited := time.Since(began) - time.Hour; waited != 3*wire.Heartbeat {
			t.Errorf("gave up after %v", waited)
		}
	})
}

func TestWatchEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New("http://localhost", "", &http.Client{Transport: mute{}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := firstError(c.Watch(ctx)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// beating answers with a stream that only shows that it is alive for an hour
// before the run ends.
type beating struct{}

func (beating) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
	go func() {
		var err error
		for range time.Hour / wire.Heartbeat {
			time.Sleep(wire.Heartbeat)
			_, beat := io.WriteString(w, ": heartbeat\n\n")
			err = errors.Join(err, beat)
		}
		_, last := io.WriteString(w, "event: progress\ndata: {\"status\":\"COMPLETED\",\"priority\":\"LOW\"}\n\n")
		w.CloseWithError(errors.Join(err, last))
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
}

func TestHeartbeatIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New("http://localhost", "", &http.Client{Transport: beating{}})
		if err != nil {
			t.Fatal(err)
		}
		events := 0
		for p, err := range c.WatchRun(t.Context(), 1) {
			if events++; err != nil || p.Status != domain.RunCompleted {
				t.Errorf("got %v, %v", p.Status, err)
			}
		}
		if events != 1 {
			t.Errorf("got %d events", events)
		}
	})
}
