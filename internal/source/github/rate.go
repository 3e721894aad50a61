package github

import (
	"net/http"
	"strconv"
	"time"

	"sluice/internal/quota"
)

// rateOf reads the rate headers, which every answer may carry, errors too. What
// they say about another bucket than the call's is not about this call, and
// those of a 401 are about the ration of callers without a token.
func rateOf(a *answer, bucket string) quota.Response {
	h := a.header
	r := quota.Response{Date: a.date}
	if a.status == http.StatusUnauthorized {
		return r
	}
	remaining, err1 := strconv.Atoi(h.Get("X-Ratelimit-Remaining"))
	reset, err2 := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64)
	resource := h.Get("X-Ratelimit-Resource")
	if err1 != nil || err2 != nil || (bucket != "" && resource != "" && resource != bucket) {
		return r
	}
	limit, err := strconv.Atoi(h.Get("X-Ratelimit-Limit"))
	if err != nil {
		return r
	}
	r.Known, r.Limit, r.Remaining, r.Reset = true, limit, remaining, time.Unix(reset, 0).UTC()
	return r
}

// retryAfter reads Retry-After, in seconds or as a date on GitHub's clock; zero
// if there is none.
func retryAfter(a *answer, now time.Time) time.Duration {
	value := a.header.Get("Retry-After")
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if !a.date.IsZero() {
		now = a.date
	}
	return max(at.Sub(now), 0)
}
