package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// maxAnswer is how much of an answer is read, so that the connection can
	// be used again; drainTime is how long that may take.
	maxAnswer = 4 << 10
	drainTime = time.Second
	// maxRetryAfter is how long a receiver may have a message wait.
	maxRetryAfter = time.Hour
	// maxError bounds what is kept of an error: parts may be the receiver's.
	maxError = 300
)

// Message is one notification.
type Message struct {
	// ID is the same for every attempt, so that receivers can tell what they
	// have. It is printable ASCII without spaces. A full stop in it is sent as
	// ~, since full stops separate what is signed.
	ID   string
	URL  string
	Body []byte
}

// Result is what became of one attempt.
type Result struct {
	OK bool
	// Status is the answer's; 0 if there was none.
	Status int
	// Error says in words for people why it is not OK.
	Error string
	// RetryAfter is how long the receiver asks to be left alone.
	RetryAfter time.Duration
	// Permanent means that no other attempt can be any better.
	Permanent bool
}

// Send makes one attempt. A status of 200 to 299 is success; what the answer
// says beyond is dropped.
func (s *Sender) Send(ctx context.Context, m Message) Result {
	target, err := s.parse(m.URL)
	if err != nil {
		return Result{Error: err.Error(), Permanent: true}
	}
	if s.sign == nil && !s.options.Unsigned {
		// Another start of this program may have one.
		return Result{Error: errNoSecret().Error()}
	}
	id, ok := sentID(m.ID)
	if !ok {
		return Result{Error: "the message's id is empty or not printable ASCII", Permanent: true}
	}
	limited, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodPost, target.String(), bytes.NewReader(m.Body))
	if err != nil {
		return Result{Error: "the webhook's address cannot be used", Permanent: true}
	}
	timestamp := strconv.FormatInt(s.options.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", s.options.UserAgent)
	request.Header.Set(HeaderID, id)
	request.Header.Set(HeaderTimestamp, timestamp)
	if s.sign != nil {
		request.Header.Set(HeaderSignature, s.sign(id, timestamp, m.Body))
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return s.noAnswer(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	drain(answer.Body, cancel)
	return s.judge(answer)
}

// sentID is an id as it is sent and signed.
func sentID(id string) (string, bool) {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return "", false
		}
	}
	return strings.ReplaceAll(id, ".", "~"), id != ""
}

// drain reads the start of a body. Whether that succeeds changes nothing: what
// counts was in the head.
func drain(body io.Reader, cancel func()) {
	stop := time.AfterFunc(drainTime, cancel)
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, body, maxAnswer)
}

// judge reads an answer's head.
func (s *Sender) judge(answer *http.Response) Result {
	r := Result{Status: answer.StatusCode}
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		r.OK = true
	case code >= 300 && code < 400:
		r.Error = fmt.Sprintf("the receiver answered %d, a redirect; redirects are not followed: give the address it leads to", code)
	case code == http.StatusGone:
		r.Error, r.Permanent = "the receiver answered 410: it does not want any more of these", true
	default:
		r.Error = strings.TrimSpace(fmt.Sprintf("the receiver answered %d %s", code, http.StatusText(code)))
		if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
			r.RetryAfter = retryAfter(answer.Header.Get("Retry-After"), s.options.Now())
		}
	}
	return r
}

// retryAfter reads the header, in seconds or as a date; zero if there is none.
func retryAfter(value string, now time.Time) time.Duration {
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		seconds = min(max(seconds, 0), int64(maxRetryAfter/time.Second))
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// noAnswer puts into words why there was none.
func (s *Sender) noAnswer(ctx context.Context, err error) Result {
	var refused *refusal
	if errors.As(err, &refused) {
		return Result{Error: refused.Error(), Permanent: true}
	}
	// The client's own words begin with the whole address.
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var timeout net.Error
	switch {
	case ctx.Err() != nil:
		return Result{Error: "the attempt was interrupted before the receiver answered"}
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		return Result{Error: fmt.Sprintf("the receiver did not answer within %v", s.options.Timeout)}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return Result{Error: "the receiver closed the connection without an answer"}
	default:
		return Result{Error: "the receiver gave no answer: " + printable(err.Error())}
	}
}

// printable cuts a text that may quote the receiver, and drops what could
// disturb a terminal.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(text); len(runes) > maxError {
		return string(runes[:maxError]) + "…"
	}
	return text
}
