package maplestory

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/source"
	"sluice/internal/source/trim"
)

// Short codes beside those of the API (OPENAPI00001 and so on) and those of
// other statuses (HTTP502 and so on).
const (
	WhyUnparsable = "UNPARSABLE" // no well-formed JSON object
	WhyTooLarge   = "TOOLARGE"   // larger than MaxBody
	WhyNoData     = "NODATA"     // well-formed, but with nothing that is kept
	WhyBadKey     = "BADKEY"     // no call can be made for the key
	WhyTimeout    = "TIMEOUT"
	WhyConnection = "CONNECTION"
	WhyCutOff     = "CUTOFF"
	WhyStopped    = "STOPPED" // our own side gave the call up
)

// How long to wait when the upstream does not say. A second's quota is free
// after a second; the others end in their own time and are looked at now and
// then.
const (
	quotaPause       = time.Second
	preparingPause   = time.Minute
	maintenancePause = time.Minute
	// longestPause bounds what the upstream can ask for.
	longestPause = time.Hour
)

// understand is where every answer gets its meaning:
//
//	200                     the value; no well-formed object is dead
//	429, 00007              wait: the quota
//	00009                   wait: the data of this character are being prepared
//	00010, 00011            wait: maintenance of the game or of the API
//	408, 5xx, 00001         tried again
//	3xx                     tried again: nothing redirects here, so it is somebody
//	                        between, and it is not followed
//	00002, 00005            dead, and so is every other call with this API key
//	other 4xx               dead, by the API's own code
//	anything else           dead
//
// The code in the body decides before the status does.
func (s *Source) understand(a *answer) source.Fetched {
	if a.status == http.StatusOK {
		return source.Fetched{Verdict: source.FetchDone, HTTPStatus: a.status}
	}
	why, said := apiError(a.body)
	res := source.Fetched{Verdict: source.FetchDead, Code: why, HTTPStatus: a.status, Error: "the API answers " + strconv.Itoa(a.status)}
	if res.Code == "" {
		res.Code = "HTTP" + strconv.Itoa(a.status)
		said = http.StatusText(a.status)
	}
	if said != "" {
		res.Error += ": " + said
	}
	switch {
	case why == "OPENAPI00007", why == "" && a.status == http.StatusTooManyRequests:
		wait(&res, quotaPause, true)
	case why == "OPENAPI00009":
		wait(&res, preparingPause, false)
	case why == "OPENAPI00010", why == "OPENAPI00011":
		wait(&res, maintenancePause, true)
	case why == "OPENAPI00001", a.status >= 500, a.status == http.StatusRequestTimeout, why == "" && a.status >= 300 && a.status < 400:
		res.Verdict = source.FetchRetry
	case why == "OPENAPI00002", why == "OPENAPI00005":
		res.Everywhere = true
	}
	if asked := retryAfter(a.header, s.opt.Now()); asked > 0 && res.Verdict == source.FetchWait {
		res.Wait = min(asked, longestPause)
	}
	return res
}

func wait(r *source.Fetched, d time.Duration, everywhere bool) {
	r.Verdict, r.Wait, r.Everywhere = source.FetchWait, d, everywhere
}

// longestMessage bounds what is quoted from an answer.
const longestMessage = 200

// apiError reads the API's own error; empty if the body is none.
func apiError(body []byte) (name, message string) {
	if !gjson.ValidBytes(body) {
		return "", ""
	}
	e := gjson.GetBytes(body, "error")
	name = e.Get("name").String()
	if len(name) > 20 || !strings.HasPrefix(name, "OPENAPI") {
		return "", ""
	}
	message = strings.ToValidUTF8(e.Get("message").String(), "")
	if len(message) > longestMessage {
		message = strings.ToValidUTF8(message[:longestMessage], "") + "…"
	}
	return name, message
}

func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), int(longestPause/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// keep trims an answer to its value.
func (s *Source) keep(w *workspace, a *answer, root *trim.Fields) source.Fetched {
	res := source.Fetched{Verdict: source.FetchDead, HTTPStatus: a.status}
	text, ok := w.Trim(a.padded, root)
	switch {
	case !ok:
		res.Code, res.Error = WhyUnparsable, "the answer of "+strconv.Itoa(len(a.body))+" bytes is not a well-formed JSON object"
	case string(text) == "{}":
		res.Code, res.Error = WhyNoData, "the API has no data of this character"
	default:
		res.Verdict = source.FetchDone
		res.Body = bytes.Clone(text)
		res.Hash = sha256.Sum256(res.Body)
	}
	return res
}
