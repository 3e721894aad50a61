package github

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/internal/document"
)

// otherwiseGone are the kinds whose absence no walk of theirs tells.
var otherwiseGone = map[document.Kind]string{
	KindRepository: "a look by its id that does not find it, as one that is not listed, or answers 404, gets",
	KindCommit:     "a walk over the whole history that did not meet it",
	KindIssue:      "a sweep that did not meet it",
	KindPull:       "a sweep that did not meet it",
	KindEvent:      "none: GitHub lists the last 30 days alone, and what is stored is kept",
	KindProfile:    "none: an account that GitHub does not have any more is paused",
	KindIssueEvent: "its issue or pull request is gone, and it comes back with that",
}

// goneBy says what tells that something is gone which is walked over in this way.
func goneBy(w walk) string {
	switch w := w.(type) {
	case *listing:
		if w.lasting {
			return "none: GitHub tells of the last days alone, and what is stored is kept"
		}
		return "a whole list without it"
	case *stream, *connected:
		return "a sweep that did not meet it"
	case *nested:
		return "a sweep that did not meet it, unless GitHub did not tell what a pull request has"
	case *feed:
		if w.wrap == "" {
			return "none: what is stored is kept"
		}
		return "a sweep that met as many as GitHub says that there are, and not this one"
	case *children:
		return "its run is gone, and it comes back with that"
	}
	return ""
}

// Every kind has a rule by which it is said to be gone, or says that there is none.
func TestAbsencesAreDocumented(t *testing.T) {
	rules := map[document.Kind]string{}
	for _, w := range walks() {
		rules[w.declared().kind] = goneBy(w)
	}
	kinds := map[string][]string{}
	var order []string
	for _, d := range Kinds() {
		rule := rules[d.Kind]
		if other, ok := otherwiseGone[d.Kind]; ok {
			rule = other
		}
		if rule == "" {
			t.Errorf("nothing says when %s are gone", d.Plural)
		}
		if !slices.Contains(order, rule) {
			order = append(order, rule)
		}
		kinds[rule] = append(kinds[rule], d.Plural)
	}
	var b strings.Builder
	b.WriteString("| kinds | gone by |\n| --- | --- |\n")
	for _, rule := range order {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(kinds[rule], ", "), rule)
	}
	checkPage(t, "gone", b.String())
}
