package github

import (
	"net/http"
	"strconv"
	"time"
)

// Fault is an answer scripted in place of, or on top of, the real one. Without
// Status the real answer is given, altered as the fault says.
type Fault struct {
	Kind   string // as the audit counts it
	Status int
	Header http.Header // replaces what the answer would carry
	Body   string
	Delay  time.Duration

	Truncate bool          // announce the whole body, send half of it, hang up
	Cut      bool          // send half of the body, then reset the connection
	Reset    bool          // hang up without an answer
	Slow     time.Duration // spread the body over this time
	Pad      int           // put so many blanks in front of the body
	Skew     time.Duration // how far the Date header is off

	// Partial makes parts of a GraphQL answer null. A fault whose path is not
	// in the answer does not happen, and stays for the next request.
	Partial *Partial
	// Anonymous shows the rate headers of a caller without a token.
	Anonymous bool
	Free      bool // the call is not charged
}

// replaces tells whether the real answer is not even rendered.
func (f *Fault) replaces() bool { return f != nil && (f.Status != 0 || f.Reset) }

// spoils tells whether the caller does not get the answer it paid for.
func (f *Fault) spoils() bool {
	return f != nil && (f.replaces() || f.Truncate || f.Cut || f.Partial != nil)
}

func (f *Fault) kind() string {
	if f.Kind == "" {
		return FaultOther
	}
	return f.Kind
}

// ServerError answers with a status of the 5xx kind and a JSON body.
func ServerError(status int) Fault {
	return Fault{Kind: FaultServerError, Status: status, Body: `{"message":"Server Error"}`}
}

const unicorn = "<!DOCTYPE html>\n<html><head><title>Unicorn!</title></head><body><p>We had issues producing the response to your request.</p></body></html>\n"

// HTMLErrorPage answers 502 with the page GitHub's front end shows.
func HTMLErrorPage() Fault {
	return Fault{
		Kind: FaultHTMLPage, Status: http.StatusBadGateway,
		Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: unicorn,
	}
}

// TruncatedBody gives the real answer but hangs up in the middle of it.
func TruncatedBody() Fault { return Fault{Kind: FaultTruncated, Truncate: true} }

// ConnectionReset hangs up without an answer.
func ConnectionReset() Fault { return Fault{Kind: FaultReset, Reset: true} }

// ConnectionCut resets the connection in the middle of the real answer.
func ConnectionCut() Fault { return Fault{Kind: FaultCut, Cut: true} }

// Delayed gives the real answer later.
func Delayed(d time.Duration) Fault { return Fault{Kind: FaultDelayed, Delay: d} }

// SlowBody gives the real answer in drops over a time.
func SlowBody(over time.Duration) Fault { return Fault{Kind: FaultSlow, Slow: over} }

// HugeBody gives the real answer behind so many blanks.
func HugeBody(size int) Fault { return Fault{Kind: FaultHuge, Pad: size} }

// MalformedJSON answers 200 with a body that is not JSON.
func MalformedJSON() Fault {
	return Fault{Kind: FaultMalformed, Status: http.StatusOK, Body: `[{"id":1,"message":"cut o`}
}

// SecondaryLimit answers as GitHub does when it has had enough. A zero
// retryAfter leaves the header out.
func SecondaryLimit(retryAfter time.Duration) Fault {
	f := Fault{Kind: FaultSecondarySilent, Status: http.StatusForbidden, Header: http.Header{}, Body: secondaryBody, Free: true}
	if retryAfter > 0 {
		f.Kind = FaultSecondary
		f.Header.Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	return f
}

// AbsurdRetryAfter is a secondary limit that asks for two years of patience.
func AbsurdRetryAfter() Fault {
	f := SecondaryLimit(63_072_000 * time.Second)
	f.Kind = FaultAbsurdWait
	return f
}

// BadCredentials answers as if the token were no longer valid, with the ration
// of a caller that has none.
func BadCredentials() Fault {
	return Fault{Kind: FaultUnauthorized, Status: http.StatusUnauthorized, Body: badCredentialsBody, Free: true, Anonymous: true}
}

// NotFoundOnce answers 404, whatever is there.
func NotFoundOnce() Fault {
	return Fault{
		Kind: FaultNotFound, Status: http.StatusNotFound,
		Body: `{"message":"Not Found","documentation_url":"https://docs.github.com/rest","status":"404"}`,
	}
}

// Redirect answers 301, 302, 307 or 308 to an address.
func Redirect(status int, location string) Fault {
	return Fault{
		Kind: FaultRedirect, Status: status, Header: http.Header{"Location": {location}},
		Body: `{"message":"Moved","url":"` + location + `"}`,
	}
}

// WindowEnds gives the real answer with another end of the rate window.
func WindowEnds(at time.Time) Fault {
	return Fault{Kind: FaultResetFar, Header: http.Header{"X-Ratelimit-Reset": {strconv.FormatInt(at.Unix(), 10)}}}
}

// ClockJump gives the real answer with a Date header that is off.
func ClockJump(by time.Duration) Fault { return Fault{Kind: FaultClock, Skew: by} }

// GraphQLErrors answers 200 with a GraphQL error and no data; GitHub leaves out
// the kind when a query took too long.
func GraphQLErrors(kind, message string) Fault {
	b := &buffer{}
	b.raw(`{"data":null,"errors":`)
	writeErrors(b, []queryError{{kind: kind, message: message}})
	b.raw(`}`)
	return Fault{Kind: FaultQueryTimeout, Status: http.StatusOK, Body: string(b.b)}
}

// wentWrong is what GitHub says of a query, or of a part of one, that took too
// long. It has no type.
const wentWrong = "Something went wrong while executing your query. This may be the result of a timeout, or it could be a GitHub bug. Please include `0A1B:2C3D:4E5F:60718:293A4B5C` when reporting this issue."

// QueryTimeout answers 200 with the error of a query that took too long.
func QueryTimeout() Fault { return GraphQLErrors("", wentWrong) }

// PartialAnswer makes what a path names null in the next GraphQL answer.
func PartialAnswer(p Partial) Fault { return Fault{Kind: FaultPartialField, Partial: &p} }
