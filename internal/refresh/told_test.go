package refresh_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/refresh"
)

// refusing is an upstream that knows nobody.
func refusing() *script {
	return scripted(func(context.Context, string, int) refresh.Fetched {
		return refresh.Fetched{Verdict: refresh.FetchDead, Code: "OPENAPI00003", Error: "nobody", HTTPStatus: 400}
	})
}

// TestNoticeOfADeadLetter: those who follow the topic are told the event as it was, why
// it was given up and by whom.
func TestNoticeOfADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, refusing(), func(s *stand) { s.settings.WorkerID = "w-1" })
		s.start()
		s.want(refresh.Published, high, "key")
		s.until("a letter", func() bool { return len(s.letters()) == 1 })
		s.pass(time.Second)
		c, err := s.parts.Log.Join(t.Context(), "followers", refresh.TopicDead)
		s.check(err)
		defer func() { s.check(c.Close(t.Context())) }()
		got, err := c.Take(t.Context(), 10)
		s.check(err)
		if len(got) != 1 {
			t.Fatalf("%d notices", len(got))
		}
		var notice struct {
			OriginalEvent                               refresh.Event
			FailureReason, Code, ErrorMessage, WorkerID string
			RetryCount                                  int
			FailedAt                                    time.Time
		}
		s.check(json.Unmarshal(got[0].Value, &notice))
		letter := s.letters()[0]
		if e := notice.OriginalEvent; e.EventID != letter.ID || e.Key != "key" || e.CorrelationID != "a test" || e.SchemaVersion != refresh.SchemaVersion {
			t.Errorf("the event is %+v", e)
		}
		if notice.FailureReason != "NEXON_API_4XX" || notice.Code != "OPENAPI00003" || notice.ErrorMessage != "nobody" || notice.WorkerID != "w-1" ||
			notice.RetryCount != 1 || !notice.FailedAt.Equal(letter.FailedAt) {
			t.Errorf("told is %s", got[0].Value)
		}
	})
}

// lines are what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// TestLogLeadsToTheRequest: what is logged of a refresh that failed names the request
// that it was for.
func TestLogLeadsToTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, refusing())
		var logged lines
		parts := s.parts
		parts.Slog = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
		p, err := refresh.NewPipeline(parts, s.settings)
		s.check(err)
		s.check(p.Start(t.Context()))
		defer func() { _ = p.Stop(t.Context()) }()
		_, err = p.Request(t.Context(), refresh.Request{Entities: entitiesOf([]string{"key"}), Priority: high, Reason: refresh.ReasonUserRequest, CorrelationID: "trace-7"})
		s.check(err)
		s.until("a letter", func() bool { return len(s.letters()) == 1 })
		logged.mu.Lock()
		defer logged.mu.Unlock()
		for line := range strings.Lines(logged.text.String()) {
			if strings.Contains(line, "a refresh was given up") {
				if !strings.Contains(line, "correlation_id=trace-7") || !strings.Contains(line, "level=WARN") || !strings.Contains(line, "OPENAPI00003") {
					t.Errorf("logged is %s", line)
				}
				return
			}
		}
		t.Errorf("nothing says that it was given up: %s", &logged.text)
	})
}
