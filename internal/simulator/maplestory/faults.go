package maplestory

import (
	"net/http"
	"time"
)

// The kinds of faults, as the audit counts them and as nasty mode draws them.
const (
	FaultPreparing       = "being_prepared" // of one key, for a while
	FaultGameMaintenance = "game_maintenance"
	FaultAPIMaintenance  = "api_maintenance"
	FaultQuota           = "quota_exceeded"
	FaultInternal        = "internal_error"
	FaultHTMLPage        = "html_page"
	FaultMalformed       = "malformed_json"
	FaultTruncated       = "truncated_body"
	FaultReset           = "connection_reset" // without an answer
	FaultCut             = "connection_cut"   // in the middle of an answer
	FaultDelayed         = "delayed_answer"
	FaultSlow            = "slow_body"
	FaultHuge            = "huge_body"
	FaultOther           = "other"

	// ChangeRenewed is a character that gets a new ocid.
	ChangeRenewed = "ocid_renewed"
	// ChangeValue is a value that becomes another.
	ChangeValue = "value_changed"
)

// Kinds lists what nasty mode draws from.
func Kinds() []string {
	return []string{
		FaultPreparing, FaultGameMaintenance, FaultAPIMaintenance, FaultQuota, FaultInternal, FaultHTMLPage, FaultMalformed,
		FaultTruncated, FaultReset, FaultCut, FaultDelayed, FaultSlow, FaultHuge, ChangeRenewed, ChangeValue,
	}
}

// Fault is an answer scripted in place of, or on top of, the real one. Without
// Status the real answer is given, altered as the fault says.
type Fault struct {
	Kind     string // as the audit counts it
	Status   int
	Header   http.Header
	Body     string
	Delay    time.Duration
	Truncate bool          // announce the whole body, send half of it, hang up
	Cut      bool          // send half of the body, then reset the connection
	Reset    bool          // hang up without an answer
	Slow     time.Duration // spread the body over this time
	Pad      int           // put so many blanks in front of the body
}

func (f *Fault) kind() string {
	if f.Kind == "" {
		return FaultOther
	}
	return f.Kind
}

// spoils tells whether the caller does not get the answer it asked for.
func (f *Fault) spoils() bool {
	return f != nil && (f.Status != 0 || f.Reset || f.Truncate || f.Cut)
}

// replaces tells whether the real answer is not even rendered.
func (f *Fault) replaces() bool { return f != nil && (f.Status != 0 || f.Reset) }

// Failure answers with an error of the API.
func Failure(c Code) Fault {
	kind := map[Code]string{
		Internal: FaultInternal, QuotaExceeded: FaultQuota, BeingPrepared: FaultPreparing,
		GameMaintenance: FaultGameMaintenance, APIMaintenance: FaultAPIMaintenance,
	}[c]
	return Fault{Kind: kind, Status: c.Status(), Body: c.Body()}
}

// HTMLErrorPage answers with a page such as a gateway shows.
func HTMLErrorPage(status int) Fault {
	return Fault{
		Kind: FaultHTMLPage, Status: status,
		Header: http.Header{"Content-Type": {"text/html"}},
		Body:   "<html><head><title>Bad gateway</title></head><body>The server did not answer.</body></html>\n",
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
	return Fault{Kind: FaultMalformed, Status: http.StatusOK, Body: `{"date":null,"item_equipment":[{"item_name":"cut o`}
}
