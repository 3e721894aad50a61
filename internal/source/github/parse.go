package github

import (
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

func malformed(what string) source.Result {
	return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureMalformed, "GitHub's answer is not as expected: %s", what)}
}

// when reads a time; null and what is no time are zero.
func when(v gjson.Result) time.Time {
	if v.Type != gjson.String {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, v.Str)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// login reads the login of a user object, empty for null.
func login(v gjson.Result) string { return text(v.Get("login")) }

func formatID(id int64) string { return strconv.FormatInt(id, 10) }

func ownerOf(fullName string) string {
	owner, _, _ := strings.Cut(fullName, "/")
	return owner
}

func (c *call) key(kind document.Kind, name string) document.Key {
	return document.Key{Account: c.Run.AccountID, Kind: kind, Name: name}
}

// inherit gives a document what it has from its repository.
func (c *call) inherit(f *document.Fields) {
	r := c.p.Repo
	f.Repository, f.Language = r.ID, r.Language
	f.Fork, f.Private, f.External = r.Fork, r.Private, r.External
}

// owns reports whether a repository is the account's own; what is collected by itself
// is, whoever it belongs to by now.
func (c *call) owns(fullName string) bool {
	return isRepository(c.Run.Login) || strings.EqualFold(ownerOf(fullName), c.Run.Login)
}

// pageOf begins the result of a page, with room for about as many documents as
// its body can hold.
func pageOf(a *answer) source.Result {
	const smallestItem = 400
	return source.Result{Verdict: source.Done, Documents: make([]document.Document, 0, min(len(a.body)/smallestItem, pageSize))}
}

// itemReader reads the item that begins at i. It returns where the item ends
// and what is wrong with it, if anything.
type itemReader func(i int) (end int, wrong string)

// eachItem reads the items of the list at i. It returns how many there were and
// where the list ends.
func eachItem(body []byte, i int, read itemReader) (n, end int, wrong string) {
	end = elements(body, i, func(i int) int {
		n++
		var end int
		if end, wrong = read(i); wrong != "" {
			return -1
		}
		return end
	})
	if end < 0 && wrong == "" {
		wrong = "it is not a list of items, or it is cut off"
	}
	return n, end, wrong
}

// eachOf reads the items of a body that is one list, and nothing else.
func eachOf(body []byte, read itemReader) (n int, wrong string) {
	n, end, wrong := eachItem(body, 0, read)
	if wrong == "" && end != len(body) {
		wrong = "something follows the list"
	}
	return n, wrong
}

// eachNode reads the nodes of a GraphQL connection.
func eachNode(body []byte, nodes gjson.Result, read itemReader) (n int, wrong string) {
	n, _, wrong = eachItem(body, nodes.Index, read)
	return n, wrong
}

func isNull(body []byte, i int) bool { return body[i] == 'n' }
