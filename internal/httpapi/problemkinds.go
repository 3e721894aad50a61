package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"sluice/internal/domain"
)

// problemKind is what is to be known about the problems of a code.
type problemKind struct {
	code domain.Code
	// statuses are what it comes with; the first is that of our own errors, the
	// others are brought about by HTTP itself.
	statuses []int
	// means says what happened, and remedy what to do.
	means, remedy string
	// retry says whether the same request may succeed later.
	retry bool
}

// problemKinds is the one place where codes become statuses, and where the page
// about problems and docs/problems.md come from.
var problemKinds = []problemKind{
	{domain.CodeInvalid, []int{http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusRequestHeaderFieldsTooLarge},
		"The request is wrong: a field is missing or has a value that it cannot have, the body is no JSON or too large, or the path does not take the method. " +
			"An Idempotency-Key that was used for another request is one of these.",
		"Mend the request: detail says what is wrong, errors names each field. Sending it again as it is leads to the same answer.", false},
	{domain.CodeNotFound, []int{http.StatusNotFound},
		"There is no such thing: no such account, run, job or timer, no such path, or nothing of the kind in this service because it is not configured for it.",
		"Look at the name or id; where the service is not configured for it, detail names the setting.", false},
	{domain.CodeConflict, []int{http.StatusConflict},
		"It clashes with what is there: a run of the account is under way, a timer of that id has other content, or a request with the same Idempotency-Key is being carried out.",
		"Look at what is there and decide; where a request is being carried out, ask again when it has ended.", true},
	{domain.CodeIllegalMove, []int{http.StatusConflict},
		"The thing is in a state in which that cannot be done: a run that has ended cannot be canceled, a job that succeeded cannot be retried.",
		"Look at its state; docs/architecture.md has the two diagrams.", false},
	{domain.CodeStale, []int{http.StatusConflict},
		"Somebody else has changed it since it was read.",
		"Read it again, and ask again.", true},
	{domain.CodeUnauthorized, []int{http.StatusUnauthorized, http.StatusForbidden},
		"The API token is missing, wrong or may not do this; or, with status 403 from a service without a token, the request does not come from this machine, " +
			"or a web page of another site makes it. A webhook's signature that is wrong is one of these too.",
		"Send the token as Authorization: Bearer TOKEN; a service without one is asked at localhost, 127.0.0.1 or [::1].", false},
	{domain.CodeGone, []int{http.StatusGone},
		"It was there and is kept no longer: changes behind a position that is older than what the feed keeps.",
		"Begin anew from the documents themselves, as detail says, and go on from the newest position.", false},
	{domain.CodeUnavailable, []int{http.StatusServiceUnavailable, http.StatusRequestTimeout, http.StatusTooManyRequests},
		"Something that the service needs cannot be reached, is full or takes too long; or the service is starting or stopping.",
		"Ask again later, after Retry-After if the answer has it. /readyz?verbose tells what does not work.", true},
	{domain.CodeInternal, []int{http.StatusInternalServerError},
		"This is a bug. What exactly happened is in the service's log, and not in the answer.",
		"Report it with the lines of the log.", false},
	{domain.CodeCorrupt, []int{http.StatusInternalServerError},
		"Stored data cannot be trusted.",
		"A person must act: detail says what is damaged. `sluice doctor` looks at the rest.", false},
}

// problemKindOf is nil for a code that is not known.
func problemKindOf(code domain.Code) *problemKind {
	for i := range problemKinds {
		if problemKinds[i].code == code {
			return &problemKinds[i]
		}
	}
	return nil
}

// problemPage is where problems of a code are explained.
func problemPage(code domain.Code) string { return ProblemsPath + "#" + string(code) }

// statusNames are the statuses for people.
func (k *problemKind) statusNames() string {
	var names []string
	for _, status := range k.statuses {
		names = append(names, fmt.Sprintf("%d %s", status, http.StatusText(status)))
	}
	return strings.Join(names, ", ")
}

// advice says whether to ask again.
func (k *problemKind) advice() string {
	if k.retry {
		return "may succeed later"
	}
	return "leads to the same answer"
}

// ProblemsMarkdown is docs/problems.md.
func ProblemsMarkdown() string {
	var out strings.Builder
	out.WriteString("# Problems\n\n" +
		"<!-- Written by `go test ./internal/httpapi -update` from internal/httpapi/problemkinds.go. -->\n\n" +
		"Every error of the API is a problem (RFC 9457, `application/problem+json`). `code` tells programs what happened, `detail`\n" +
		"tells people what to do, and `type` leads to this page as the service shows it, at `" + ProblemsPath + "#CODE`.\n\n" +
		"| code | status | the same request again |\n| --- | --- | --- |\n")
	for i := range problemKinds {
		k := &problemKinds[i]
		fmt.Fprintf(&out, "| [`%s`](#%s) | %s | %s |\n", k.code, k.code, k.statusNames(), k.advice())
	}
	for i := range problemKinds {
		k := &problemKinds[i]
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n**What to do.** %s\n", k.code, k.means, k.remedy)
	}
	return out.String()
}
