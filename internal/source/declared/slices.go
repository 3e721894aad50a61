package declared

import (
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// A stream with a window is asked for in slices of time, one walk each. The first page
// of a run's first slice plans the others, so that they are walked at the same time.
// Each that comes to its end leaves a mark; what is asked for next begins where marks
// follow one another without a gap. Slices share the instant between them, and begin a
// step before it, so that nothing is lost whether an upstream takes the ends of a slice
// to be in it or not.

// slice settles which part of the time a walk's first page asks for.
func (c walk) slice() {
	from := c.p.Since
	if from == 0 {
		from = c.stream.cursor.start.Unix()
	}
	c.p.From, c.p.Begin = from, true
	c.p.Until = c.sliceEnd(from)
}

// sliceEnd is where a slice ends: a window later, or at the run's own instant.
func (c walk) sliceEnd(from int64) int64 {
	end, now := from+int64(c.stream.window/time.Second), c.Run.Anchor.Unix()
	if end > now {
		return max(now, from)
	}
	return end
}

// mostSlices is how many slices are planned at once.
const mostSlices = 1000

// slices plans those that follow the first one. The last of many plans more.
func (c walk) slices(res *source.Result) {
	from := c.p.Until
	for n := 1; from < c.Run.Anchor.Unix() && n <= mostSlices; n++ {
		next := params{Parents: c.p.Parents, Since: c.p.Since, From: from, Until: c.sliceEnd(from), Begin: n == mostSlices}
		res.Next = append(res.Next, c.s.spec(c.Job.Type, c.Job.Resource, next, domain.ClassWalk))
		from = next.Until
	}
}

// sliced notes that a slice came to its end.
func (c walk) sliced(res *source.Result) {
	key, end := cursorKey(c.Job.Type, c.Job.Resource), min(c.p.Until, c.p.At)
	if c.p.Since == 0 && c.p.From != c.stream.cursor.start.Unix() || c.p.Since != 0 && c.p.From != c.p.Since || c.p.Until < c.Run.Anchor.Unix() {
		key += sliceMark + strconv.FormatInt(c.p.From, 10)
	}
	res.Cursors = append(res.Cursors, c.cursorAt(key, end))
}

const sliceMark = " slice "

// reached is the instant up to which slices follow one another without a gap from an
// earlier one; zero if there is none.
func (c walk) reached(from time.Time) time.Time {
	prefix := cursorKey(c.Job.Type, c.Job.Resource) + sliceMark
	ends := map[int64]int64{}
	for key, at := range c.Cursors {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			if begin, err := strconv.ParseInt(rest, 10, 64); err == nil {
				ends[begin] = at.Unix()
			}
		}
	}
	at := from.Unix()
	if from.IsZero() {
		at = c.stream.cursor.start.Unix()
	}
	for end, met := ends[at]; met && end > at; end, met = ends[at] {
		at, from = end, unix(end)
	}
	return from
}

// bounds are the ends of a slice as expressions see them.
func (c *call) bounds() (since, until time.Time) {
	step := time.Second
	if c.stream.cursor.as == asDate {
		step = 24 * time.Hour
	}
	since, until = unix(c.p.From), unix(c.p.Until)
	switch start := c.stream.cursor.start; {
	case c.p.From == c.p.Since && c.p.Since != 0:
		since = since.Add(-max(c.stream.cursor.overlap, step))
	case since.After(start):
		since = since.Add(-step)
	}
	if c.stream.cursor.as == asDate && c.p.Until >= c.Run.Anchor.Unix() {
		// The day that has begun may not be counted among those until itself.
		until = until.Add(step)
	}
	return since, until
}

// asDate is an instant that is written as a day.
const asDate = "date"

// written is an instant as the upstream wants it.
func (k *cursor) written(at time.Time) string {
	switch k.as {
	case "epoch":
		return strconv.FormatInt(at.Unix(), 10)
	case "epoch_ms":
		return strconv.FormatInt(at.UnixMilli(), 10)
	case asDate:
		return at.Format(time.DateOnly)
	}
	return at.Format("2006-01-02T15:04:05Z")
}
