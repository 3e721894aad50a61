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

// slicing is a walk through one slice.
type slicing struct{ walk }

// slice settles which part of the time a walk's first page asks for.
func (c slicing) slice() {
	from := c.p.Since
	if from == 0 {
		from = c.start().Unix()
	}
	c.p.From, c.p.Begin = from, true
	c.p.Until = c.sliceEnd(from)
}

// sliceEnd is where a slice ends: a window later, or at the run's own instant.
func (c slicing) sliceEnd(from int64) int64 {
	end, now := from+int64(c.stream.window/time.Second), c.Run.Anchor.Unix()
	if end > now {
		return max(now, from)
	}
	return end
}

// mostSlices is how many slices are planned at once.
const mostSlices = 1000

// slices plans those that follow the first one. The last of many plans more.
func (c slicing) slices(res *source.Result) {
	from := c.p.Until
	for n := 1; from < c.Run.Anchor.Unix() && n <= mostSlices; n++ {
		next := params{Base: c.p.Base, Parents: c.p.Parents, Since: c.p.Since, From: from, Until: c.sliceEnd(from), Begin: n == mostSlices}
		res.Next = append(res.Next, c.s.spec(c.Job.Type, c.Job.Resource, next, domain.ClassWalk))
		from = next.Until
	}
}

// sliced notes that a slice came to its end.
func (c slicing) sliced(res *source.Result) {
	key, end := cursorKey(c.Job.Type, c.Job.Resource), min(c.p.Until, c.p.At)
	if c.p.Since == 0 && c.p.From != c.start().Unix() || c.p.Since != 0 && c.p.From != c.p.Since || c.p.Until < c.Run.Anchor.Unix() {
		key += sliceMark + strconv.FormatInt(c.p.From, 10)
	}
	res.Cursors = append(res.Cursors, c.cursorAt(key, end))
}

const sliceMark = " slice "

// reached is the instant up to which slices follow one another without a gap from an
// earlier one; zero if there is none.
func (c slicing) reached(from time.Time) time.Time {
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
		at = c.start().Unix()
	}
	for end, met := ends[at]; met && end > at; end, met = ends[at] {
		at, from = end, unix(end)
	}
	return from
}

// bounds are the ends of a slice as expressions see them.
func (c slicing) bounds() (since, until time.Time) {
	step := time.Second
	if c.stream.cursor.as == asDate {
		step = 24 * time.Hour
	}
	since, until = unix(c.p.From), unix(c.p.Until)
	switch start := c.start(); {
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

// start is where the first walk of the stream begins.
func (c *call) start() time.Time {
	if at, ok := c.s.starts[c.stream]; ok {
		return at
	}
	return time.Unix(0, 0).UTC()
}

// begin finds out where first walks begin, by what is set.
func (s *Source) begin() {
	for _, stream := range s.file.Streams {
		if stream.cursor.begins == nil {
			continue
		}
		text, err := stream.cursor.begins.render(map[string]any{"config": s.config})
		if at, ok := guess(text); err == nil && ok {
			s.starts[stream] = at.Truncate(time.Second)
		}
	}
}

// unbegun is a stream whose first walk begins nobody knows when; nil if there is none.
func (s *Source) unbegun() error {
	for _, stream := range s.file.Streams {
		if _, known := s.starts[stream]; stream.cursor.begins != nil && !known {
			return domain.Errorf(domain.CodeInvalid, "where the stream %s of %s begins, %s, is not an instant; set it to one such as 2020-01-01", stream.Name, s.file.Name, stream.cursor.begins.text)
		}
	}
	return nil
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
