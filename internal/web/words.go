package web

import (
	"regexp"
	"strings"
)

// What the API says to programs is said to people in the words of the pages: where they
// type and press, and not which parameter, variable or route it is.

// parameters are where the API says that something stands in a request.
var parameters = regexp.MustCompile(` \((?:query|path|body|header)\b[^()\s]*\)`)

// routes are where the API says that a list is.
var routes = regexp.MustCompile(`GET /api/v1/([a-z-]+)(?:/[a-z_]+)? lists`)

// pagesOf are the pages that have what routes list.
var pagesOf = map[string]string{
	"documents": "data", "quota": "system", "runs": "runs", "accounts": "accounts", "sources": "sources", "timers": "timers", "jobs": "jobs",
}

// byCommand is how messages say that the command line takes a credential.
var byCommand = regexp.MustCompile(` and give it with SLUICE_[A-Z_]+ or --token-file`)

var pageWords = strings.NewReplacer(
	ownAddress, "the service",
	"POST /api/v1/accounts adds one", "add it on the page of the accounts",
	"say which by a filter, or all of them by all: true", "say which by a filter",
)

// inPageWords is what the API says, for people who look at a page.
func inPageWords(text string) string {
	if strings.HasPrefix(text, "cursor is ") {
		return "this part of the list is not there any more, or is of another list: begin at its first page"
	}
	text = byCommand.ReplaceAllString(text, ", and give it here or on the page of its account")
	text = parameters.ReplaceAllString(pageWords.Replace(text), "")
	return routes.ReplaceAllStringFunc(text, func(found string) string {
		if page := pagesOf[routes.FindStringSubmatch(found)[1]]; page != "" {
			return "the page " + page + " lists"
		}
		return found
	})
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return inPageWords(err.Error())
}

// lists are the pages that have lists of what other pages show one of, by the beginning
// of their addresses.
var lists = []struct{ path, name string }{
	{"/accounts", "Accounts"}, {"/runs", "Runs"}, {"/jobs", "Jobs"}, {"/data/sql", "SQL"}, {"/data", "Data"}, {"/sources", "Sources"},
	{"/timers", "Timers"}, {"/dead-letters", "Dead letters"}, {"/refresh", "Refresh"}, {"/sinks", "System"}, {"/system", "System"},
}

// listOf is the page that an address belongs to.
func listOf(path string) (list, name string) {
	for _, l := range lists {
		if path == l.path || strings.HasPrefix(path, l.path+"/") {
			if l.path == "/sinks" {
				return "/system", l.name
			}
			return l.path, l.name
		}
	}
	return "/", "Overview"
}

var (
	wholeHours = regexp.MustCompile(`\b(\d+h)0m0s\b`)
	wholeSpans = regexp.MustCompile(`\b((?:\d+h)?\d+m)0s\b`)
	oneCall    = regexp.MustCompile(`\b1 calls\b`)
	onlyFor    = regexp.MustCompile(`\bfor \[([^\]]*)\]`)
	longNumber = regexp.MustCompile(`\b\d{5,}\b`)
)

// plainRation is what a source grants as people write it: no seconds of whole hours, digits
// in groups, and no brackets.
func plainRation(text string) string {
	text = wholeSpans.ReplaceAllString(wholeHours.ReplaceAllString(text, "$1"), "$1")
	text = longNumber.ReplaceAllStringFunc(text, func(digits string) string { return number(digits) })
	return oneCall.ReplaceAllString(onlyFor.ReplaceAllString(text, "for $1"), "1 call")
}
