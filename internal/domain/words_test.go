package domain_test

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"sluice/internal/domain"
)

// textEnum is a pointer to an enum that goes through text and back.
type textEnum[S any] interface {
	*S
	encoding.TextUnmarshaler
}

func checkText[S interface {
	comparable
	encoding.TextMarshaler
	fmt.Stringer
}, P textEnum[S]](t *testing.T, names map[S]string) {
	t.Helper()
	for value, name := range names {
		text, err := value.MarshalText()
		if err != nil || string(text) != name || value.String() != name {
			t.Errorf("%s became %q and %q with error %v", name, text, value.String(), err)
		}
		var back S
		if err := P(&back).UnmarshalText([]byte(name)); err != nil || back != value {
			t.Errorf("%q came back as %v with error %v", name, back, err)
		}
	}
	for _, wrong := range []string{"", "nonsense", "ready", "running", "high"} {
		var back S
		err := P(&back).UnmarshalText([]byte(wrong))
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), fmt.Sprintf("%q", wrong)) {
			t.Errorf("%q was read as %v with error %v", wrong, back, err)
		}
	}
	var zero S
	if !strings.HasPrefix(zero.String(), "unknown ") {
		t.Errorf("the zero value is called %q", zero.String())
	}
}

func TestEnumsAsText(t *testing.T) {
	checkText[domain.JobStatus](t, map[domain.JobStatus]string{
		domain.JobReady: "READY", domain.JobRunning: "RUNNING", domain.JobPaused: "PAUSED",
		domain.JobSucceeded: "SUCCEEDED", domain.JobFailed: "FAILED", domain.JobCanceled: "CANCELED",
	})
	checkText[domain.RunStatus](t, map[domain.RunStatus]string{
		domain.RunCreated: "CREATED", domain.RunPlanning: "PLANNING", domain.RunRunning: "RUNNING", domain.RunFinalizing: "FINALIZING",
		domain.RunCompleted: "COMPLETED", domain.RunFailed: "FAILED", domain.RunCanceled: "CANCELED",
	})
	checkText[domain.Priority](t, map[domain.Priority]string{domain.PriorityLow: "LOW", domain.PriorityHigh: "HIGH"})
	if got := domain.JobStatus(200).String(); got != "unknown job status 200" {
		t.Errorf("an unknown status is called %q", got)
	}
}

func TestTriggers(t *testing.T) {
	for _, trigger := range []domain.Trigger{domain.TriggerSignup, domain.TriggerSchedule, domain.TriggerManual, domain.TriggerWebhook} {
		if !trigger.Valid() {
			t.Errorf("%q is not valid", trigger)
		}
	}
	for _, wrong := range []domain.Trigger{"", "Signup", "cron"} {
		if wrong.Valid() {
			t.Errorf("%q is valid", wrong)
		}
	}
}

func TestErrorCodes(t *testing.T) {
	if got := domain.CodeOf(nil); got != "" {
		t.Errorf("no error has code %q", got)
	}
	if got := domain.CodeOf(io.EOF); got != domain.CodeInternal {
		t.Errorf("an error without a code has %q", got)
	}
	err := domain.Errorf(domain.CodeUnavailable, "read %s: %w", "it", io.EOF)
	if domain.CodeOf(err) != domain.CodeUnavailable || err.Error() != "read it: EOF" || !errors.Is(err, io.EOF) {
		t.Errorf("got %v of code %q", err, domain.CodeOf(err))
	}
	wrapped := fmt.Errorf("open: %w", errors.Join(io.ErrClosedPipe, err))
	if domain.CodeOf(wrapped) != domain.CodeUnavailable {
		t.Errorf("a wrapped error has code %q", domain.CodeOf(wrapped))
	}
	outer := domain.Errorf(domain.CodeConflict, "outer: %w", err)
	if domain.CodeOf(outer) != domain.CodeConflict {
		t.Errorf("the outermost code is lost: %q", domain.CodeOf(outer))
	}
	if plain := domain.Errorf(domain.CodeInvalid, "no cause"); errors.Unwrap(plain) != nil {
		t.Errorf("got the cause %v from nowhere", errors.Unwrap(plain))
	}
}

func TestFailureAndCounts(t *testing.T) {
	f := &domain.Failure{Kind: domain.FailureServer, Message: "502 from the upstream"}
	if f.Error() != "server: 502 from the upstream" {
		t.Errorf("got %q", f.Error())
	}
	c := domain.RunCounts{Known: 9, Pending: 3, Succeeded: 1, Failed: 2, Canceled: 3}
	if c.Done() != 6 {
		t.Errorf("done is %d", c.Done())
	}
}
