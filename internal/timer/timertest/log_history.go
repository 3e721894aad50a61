package timertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"sluice/internal/testkit"
	"sluice/internal/timer"
)

var logHistoryCases = []logCase{
	{"AppendAndRead", appendAndRead},
	{"EveryField", everyField},
	{"Payloads", payloads},
	{"AwkwardErrors", awkwardErrors},
	{"Replace", replace},
	{"TwiceInABatch", twiceInABatch},
	{"SeveralOfOneTimer", severalOfOne},
	{"OrderAndPaging", orderAndPaging},
	{"PagingThroughEqualInstants", equalInstants},
	{"BeginInTheMiddle", beginInTheMiddle},
	{"LargeBatch", largeBatch},
	{"ConcurrentAppends", concurrentAppends},
	{"CanceledContext", canceledContext},
}

func appendAndRead(x *logFixture) {
	x.append()
	x.expect()
	first, second := completion("b", instant(1)), completion("a", instant(2))
	x.append(second)
	x.append(first)
	x.expect(first, second)
	x.append(first, second) // an answer that was lost
	x.expect(first, second)
}

func everyField(x *logFixture) {
	delivering := timer.Completion{
		Timer: "Delivering:1@x_y-z.w", Due: time.Unix(0, 0).UTC(), FiredAt: instant(1), Server: "하나", Lateness: 123 * time.Hour, Late: true,
		Status: timer.Delivering, Tries: 3, Error: "the receiver answered 500",
	}
	dead := delivering
	dead.Timer, dead.Status, dead.Tries, dead.FiredAt = "dead", timer.Dead, 14, instant(2)
	// The last microsecond that a timer may have.
	far := completion("far", time.Date(2199, 12, 31, 23, 59, 59, 999999000, time.UTC))
	far.Lateness, far.FiredAt = 0, far.Due
	x.append(far, dead, delivering)
	x.expect(delivering, dead, far)
}

func payloads(x *logFixture) {
	bodies := []string{
		"", "null", "0", `""`, "{}", "[]", `"text"`, "1e400", "12345678901234567890.000", `{"b":1,"a":2,"a":3}`, `{"$set":{"a.b":1},"":null,"_id":7}`,
		`"한국어 🚰 \u0000 \ud800"`, "\"half \xff a letter\"", `"` + strings.Repeat("x", timer.MaxPayload-2) + `"`,
	}
	want := make([]timer.Completion, len(bodies))
	for i, body := range bodies {
		want[i] = completion(fmt.Sprintf("timer-%02d", i), instant(1))
		want[i].Payload = []byte(body)
		if body == "" {
			want[i].Payload = nil
		}
	}
	x.append(want...)
	x.expect(want...)
}

// awkwardErrors come from receivers; they must not keep a completion from being
// logged.
func awkwardErrors(x *logFixture) {
	c := completion("a", instant(1))
	c.Error = "half \xff a letter"
	x.append(c)
	got := x.all()
	if len(got) != 1 || !strings.HasPrefix(got[0].Error, "half ") || !strings.HasSuffix(got[0].Error, " a letter") {
		x.Errorf("got %+v", got)
	}
}

func replace(x *logFixture) {
	other := completion("other", instant(2))
	c := completion("a", instant(1))
	c.Success, c.Status = false, timer.Delivering
	x.append(c, other)
	c.Tries, c.Error = 1, "the receiver answered 500"
	x.append(c)
	x.expect(c, other)
	c.Tries, c.Error, c.Success, c.Status = 2, "", true, timer.Completed
	x.append(c)
	x.expect(c, other)
	// Nothing of what was known stays.
	c.Payload, c.Due, c.Server, c.Tries = nil, instant(0), "server-2", 0
	c.Late, c.Lateness = true, time.Minute
	x.append(c)
	x.expect(c, other)
}

// severalOfOne uses the id of a timer that fired again: all its completions are
// kept, in whatever order they come, and each can change.
func severalOfOne(x *logFixture) {
	var all []timer.Completion
	for i := range 6 {
		c := completion("a", instant(i))
		c.Payload = fmt.Append(nil, i)
		all = append(all, c)
	}
	x.append(all[2], completion("b", instant(7)))
	x.append(all[0])
	x.append(all[3], all[1])
	x.append(all[5], all[4], all[2])
	x.append(all[4])
	want := append(slices.Clone(all), completion("b", instant(7)))
	x.expect(want...)
	want[5].Tries, want[2].Tries = 7, 3
	x.append(want[5], want[2])
	x.expect(want...)
	for size := 1; size <= len(want); size++ {
		x.same(x.pages(size), want)
	}
	x.prune(instant(3), 100, 3)
	x.expect(want[3:]...)
}

func twiceInABatch(x *logFixture) {
	first, other := completion("a", instant(1)), completion("b", instant(2))
	last := first
	last.Tries, last.Error, last.Payload = 5, "again", nil
	x.append(first, other, last)
	x.expect(last, other)
}

// pages reads everything in pages of a size, each from the end of the one
// before.
func (x *logFixture) pages(size int) []timer.Completion {
	x.Helper()
	var all []timer.Completion
	from, after := time.Time{}, ""
	for {
		page, err := x.Completions(x.Context(), from, after, size)
		x.ok(err)
		if len(page) > size {
			x.Fatalf("a page of %d has %d", size, len(page))
		}
		all = append(all, page...)
		if len(page) < size {
			return all
		}
		last := page[len(page)-1]
		from, after = last.FiredAt, cmp.Or(last.Record, last.Timer)
	}
}

// orderAndPaging stores completions of which many fired at the same instant or
// a microsecond apart, in shuffled order.
func orderAndPaging(x *logFixture) {
	const many = 60
	dice := x.dice()
	want := make([]timer.Completion, many)
	for i := range want {
		// Groups of ten fire together, a microsecond after those before.
		want[i] = completion(fmt.Sprintf("timer-%03d", i), instant(0).Add(time.Duration(i/10)*time.Microsecond))
	}
	shuffled := make([]timer.Completion, many)
	for to, from := range dice.Perm(many) {
		shuffled[to] = want[from]
	}
	half := dice.IntN(many)
	x.append(shuffled[:half]...)
	x.append(shuffled[half:]...)
	for _, size := range []int{1, 2, 7, 10, many - 1, many, many + 1} {
		x.same(x.pages(size), want)
	}
}

// equalInstants have ids that differ in case, in length and by what stands
// between letters and digits: their order is that of bytes.
func equalInstants(x *logFixture) {
	var want []timer.Completion
	for _, id := range []string{"1", "10", "2", "A", "B", "Z", "a", "a-b", "a.b", "a0", "a:b", "a@b", "aA", "a_b", "aa", "b"} {
		want = append(want, completion(id, instant(1)))
	}
	x.append(want...)
	for size := 1; size <= len(want); size++ {
		x.same(x.pages(size), want)
	}
}

func beginInTheMiddle(x *logFixture) {
	a, b, c := completion("a", instant(1)), completion("b", instant(1)), completion("c", instant(2))
	x.append(a, b, c)
	for _, step := range []struct {
		from  time.Time
		after string
		want  []timer.Completion
	}{
		{a.FiredAt, "", []timer.Completion{a, b, c}},
		{a.FiredAt, "a", []timer.Completion{b, c}},
		{a.FiredAt, "aa", []timer.Completion{b, c}}, // one that is gone
		{a.FiredAt, "b", []timer.Completion{c}},
		{a.FiredAt, "z", []timer.Completion{c}},
		{a.FiredAt.Add(-time.Microsecond), "z", []timer.Completion{a, b, c}},
		{a.FiredAt.Add(time.Microsecond), "", []timer.Completion{c}},
		{a.FiredAt.In(time.FixedZone("east", 9*3600)), "", []timer.Completion{a, b, c}},
		{c.FiredAt, "c", nil},
		{instant(9), "", nil},
	} {
		got, err := x.Completions(x.Context(), step.from, step.after, 10)
		x.ok(err)
		x.same(got, step.want)
	}
}

func largeBatch(x *logFixture) {
	const many = 2_345
	want := make([]timer.Completion, many)
	for i := range want {
		want[i] = completion(fmt.Sprintf("timer-%05d", i), instant(0).Add(time.Duration(i)*time.Microsecond))
	}
	x.append(want...)
	x.expect(want...)
}

// concurrentAppends come from servers that do not know whether another was
// quicker: each logs all of them.
func concurrentAppends(x *logFixture) {
	const writers, many = 8, 20
	want := make([]timer.Completion, many)
	for i := range want {
		want[i] = completion(fmt.Sprintf("timer-%02d", i), instant(i))
	}
	dice := x.dice()
	errs := make(chan error, writers)
	for range writers {
		batch := make([]timer.Completion, 0, many)
		for _, i := range dice.Perm(many) {
			batch = append(batch, want[i])
		}
		go func() { errs <- x.Append(x.Context(), batch) }()
	}
	for range writers {
		x.ok(<-errs)
	}
	x.expect(want...)
}

func canceledContext(x *logFixture) {
	ctx, cancel := context.WithCancel(x.Context())
	cancel()
	if err := x.Append(ctx, []timer.Completion{completion("a", instant(1))}); !errors.Is(err, context.Canceled) {
		x.Errorf("append: %v", err)
	}
	if _, err := x.Completions(ctx, time.Time{}, "", 10); !errors.Is(err, context.Canceled) {
		x.Errorf("completions: %v", err)
	}
	if _, err := x.Stats(ctx, time.Time{}); !errors.Is(err, context.Canceled) {
		x.Errorf("stats: %v", err)
	}
	if _, err := x.Prune(ctx, instant(9), 10); !errors.Is(err, context.Canceled) {
		x.Errorf("prune: %v", err)
	}
	x.expect()
}

// dice are random; SLUICE_TEST_SEED repeats what they did.
func (x *logFixture) dice() *rand.Rand {
	x.Helper()
	seed := testkit.Seed(x.TB)
	return rand.New(rand.NewPCG(seed, 0))
}
