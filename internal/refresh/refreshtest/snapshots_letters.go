package refreshtest

import (
	"fmt"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// letter is one that failed at a second.
func letter(id string, second int) refresh.DeadLetter {
	return refresh.DeadLetter{
		ID: id,
		Event: refresh.Event{
			SchemaVersion: refresh.SchemaVersion, EventID: id, Entity: entity("key of " + id), Priority: domain.PriorityHigh,
			Reason: refresh.ReasonStale, RequestedAt: after(time.Microsecond), CorrelationID: "c", Version: 5,
		},
		Why: "OPENAPI00004", Error: "it’s 'gone'; \\", HTTPStatus: 404, Tries: 3, FirstAt: after(time.Second),
		FailedAt: after(time.Duration(second) * time.Second), Topic: "refresh.high", Partition: 2, Offset: 1 << 40,
	}
}

func idsOf(letters []refresh.DeadLetter) []string {
	ids := []string{}
	for i := range letters {
		ids = append(ids, letters[i].ID)
	}
	return ids
}

func (x *fixture) add(letters ...refresh.DeadLetter) {
	x.Helper()
	x.ok(x.AddDeadLetters(x.Context(), letters))
}

func (x *fixture) letters(q refresh.DeadLetterQuery) []string {
	x.Helper()
	letters, err := x.DeadLetterList(x.Context(), q)
	x.ok(err)
	return idsOf(letters)
}

var letterCases = []testCase{
	{"BuriedLetterIsShown", func(x *fixture) {
		x.add(letter("a", 1))
		x.add()
		got, err := x.DeadLetter(x.Context(), "a")
		x.ok(err)
		want(x, "letter", got, letter("a", 1))
		_, err = x.DeadLetter(x.Context(), "A")
		x.wantCode(err, domain.CodeNotFound)
	}},
	{"BuryingAgainChangesNothing", func(x *fixture) {
		x.add(letter("a", 1))
		again := letter("a", 2)
		again.Why = "ANOTHER"
		x.add(again, letter("b", 3))
		got, err := x.DeadLetter(x.Context(), "a")
		x.ok(err)
		want(x, "letter", got, letter("a", 1))
		want(x, "letters", x.letters(refresh.DeadLetterQuery{}), []string{"b", "a"})
	}},
	{"LetterThatCouldNotBeRead", func(x *fixture) {
		l := refresh.DeadLetter{ID: "a", Why: "UNPARSABLE", Error: "no JSON", FailedAt: start, Topic: "refresh.low", Offset: 7}
		x.add(l)
		got, err := x.DeadLetter(x.Context(), "a")
		x.ok(err)
		want(x, "letter", got, l)
	}},
	{"LetterNeedsAnID", func(x *fixture) {
		x.wantCode(x.AddDeadLetters(x.Context(), []refresh.DeadLetter{letter("a", 1), letter("", 1)}), domain.CodeInvalid)
		x.wantCode(x.AddDeadLetters(x.Context(), []refresh.DeadLetter{letter("a", 1), letter(strings.Repeat("x", 256), 1)}), domain.CodeInvalid)
		want(x, "letters", x.letters(refresh.DeadLetterQuery{}), []string{})
	}},
	{"LettersNewestFirst", func(x *fixture) {
		x.add(letter("b", 1), letter("d", 2), letter("a", 1), letter("c", 2), letter("e", 0))
		want(x, "letters", x.letters(refresh.DeadLetterQuery{}), []string{"d", "c", "b", "a", "e"})
		var paged []string
		q := refresh.DeadLetterQuery{Limit: 2}
		for {
			page, err := x.DeadLetterList(x.Context(), q)
			x.ok(err)
			if len(page) == 0 {
				break
			}
			paged = append(paged, idsOf(page)...)
			q.Before, q.BeforeID = page[len(page)-1].FailedAt, page[len(page)-1].ID
		}
		want(x, "pages", paged, []string{"d", "c", "b", "a", "e"})
		want(x, "before an instant", x.letters(refresh.DeadLetterQuery{Before: after(2 * time.Second)}), []string{"b", "a", "e"})
	}},
	{"LettersAreSelected", func(x *fixture) {
		other := letter("b", 2)
		other.Why, other.Source = "UNPARSABLE", "other"
		x.add(letter("a", 1), other, letter("c", 3))
		want(x, "by reason", x.letters(refresh.DeadLetterQuery{Why: "OPENAPI00004"}), []string{"c", "a"})
		want(x, "by source", x.letters(refresh.DeadLetterQuery{Source: "other"}), []string{"b"})
		want(x, "by key", x.letters(refresh.DeadLetterQuery{Key: "key of a"}), []string{"a"})
		want(x, "by all", x.letters(refresh.DeadLetterQuery{Why: "OPENAPI00004", Source: "shop", Key: "key of c", Before: after(4 * time.Second)}), []string{"c"})
		want(x, "by none that is there", x.letters(refresh.DeadLetterQuery{Why: "OPENAPI00004", Source: "other"}), []string{})
		counts, err := x.DeadLetterCounts(x.Context())
		x.ok(err)
		want(x, "counts", counts, map[string]int64{"OPENAPI00004": 2, "UNPARSABLE": 1})
	}},
	{"AHundredLettersUnlessToldOtherwise", func(x *fixture) {
		var letters []refresh.DeadLetter
		for i := range 120 {
			letters = append(letters, letter(fmt.Sprint("l-", i), i))
		}
		x.add(letters...)
		want(x, "letters", len(x.letters(refresh.DeadLetterQuery{})), 100)
		want(x, "letters", len(x.letters(refresh.DeadLetterQuery{Limit: 1000})), 120)
	}},
	{"RemoveReturnsThoseThatWereThere", func(x *fixture) {
		x.add(letter("a", 1), letter("b", 2), letter("c", 3))
		got, err := x.RemoveDeadLetters(x.Context(), []string{"c", "missing", "a", "c"})
		x.ok(err)
		want(x, "removed", got, []refresh.DeadLetter{letter("c", 3), letter("a", 1)})
		want(x, "left", x.letters(refresh.DeadLetterQuery{}), []string{"b"})
		got, err = x.RemoveDeadLetters(x.Context(), []string{"c"})
		x.ok(err)
		want(x, "removed again", len(got), 0)
		got, err = x.RemoveDeadLetters(x.Context(), nil)
		x.ok(err)
		want(x, "removed none", len(got), 0)
	}},
	{"AgeOutRemovesTheOldest", func(x *fixture) {
		x.add(letter("c", 3), letter("a", 1), letter("d", 4), letter("b", 2))
		for _, step := range []struct {
			limit, removed int
			left           []string
		}{{2, 2, []string{"d", "c"}}, {0, 0, []string{"d", "c"}}, {2, 1, []string{"d"}}, {2, 0, []string{"d"}}} {
			n, err := x.AgeOut(x.Context(), after(4*time.Second), step.limit)
			x.ok(err)
			want(x, "removed", n, step.removed)
			want(x, "left", x.letters(refresh.DeadLetterQuery{}), step.left)
		}
	}},
}
