package redis

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"

	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// mostCountTexts is of how many counts a process remembers how scripts are told of them.
const mostCountTexts = 1 << 12

// What the fields of counts and gates begin with, in a group's hash.
const countField, hotField, gateField = "c:", "h:", "g:"

// drawnCount is a count by what it is drawn on with.
type drawnCount struct {
	ration *ration.Ration
	part   string
	keep   int
}

// countText is how scripts are told of a count: its fields, its terms, their mark, and whether
// the short ways can count by them.
type countText struct {
	field, hot, terms string
	mark              int64
	plain             bool
}

func (t *countText) name() string { return t.field[len(countField):] }

// rationTable are the counts and gates that a script is told of, each once.
type rationTable struct {
	rations *Rations
	wall    time.Time
	counts  []drawnCount
	texts   []*countText
	gates   []string
	// plain says that the short ways may be tried.
	plain bool
}

// mostPlain is of how many counts the short ways can speak.
const mostPlain = 128

func (k *Rations) newTable(wall time.Time) *rationTable {
	return &rationTable{rations: k, wall: wall, plain: true, counts: make([]drawnCount, 0, 4), texts: make([]*countText, 0, 4)}
}

// count returns the number of a count.
func (t *rationTable) count(d *keeper.Draw, part string) int {
	is := drawnCount{d.Ration, part, d.Keep}
	if at := slices.Index(t.counts, is); at >= 0 {
		return at + 1
	}
	text := t.rations.countText(is, d)
	t.counts, t.texts = append(t.counts, is), append(t.texts, text)
	t.plain = t.plain && text.plain && len(t.texts) <= mostPlain
	return len(t.counts)
}

// name is the name of the count of a number.
func (t *rationTable) name(number int64) string { return t.texts[number-1].name() }

// gate returns the number of a gate, 0 for none.
func (t *rationTable) gate(name string) int {
	if name == "" {
		return 0
	}
	at := slices.Index(t.gates, name)
	if at < 0 {
		at, t.gates = len(t.gates), append(t.gates, name)
	}
	return at + 1
}

// arguments are all that a script is told, with room for so many more. The first two are
// filled in when it is called.
func (t *rationTable) arguments(blob record, storing bool, more int) []string {
	marks, terms := make(record, 0, 8+8*len(t.texts)), make(record, 0, len(t.texts)*152)
	marks.booleans(storing)
	marks = t.marks(marks, storing)
	args := make([]string, 5, 5+len(t.texts)+len(t.gates)+more)
	for i, text := range t.texts {
		terms = append(terms, text.terms...)
		terms.int64s(keeper.Left(t.counts[i].ration, t.wall))
		args = append(args, text.field)
	}
	args[2], args[3], args[4] = string(blob), string(marks), string(terms)
	return t.gateFields(args)
}

// marks tell the terms of counts apart, and whether they are stored.
func (t *rationTable) marks(r record, storing bool) record {
	for _, text := range t.texts {
		mark := text.mark
		if storing {
			mark++
		}
		r.int64s(mark)
	}
	return r
}

func (t *rationTable) gateFields(args []string) []string {
	for _, name := range t.gates {
		args = append(args, gateField+name)
	}
	return args
}

// countText returns how scripts are told of a count. Draws are not changed once they were
// asked for.
func (k *Rations) countText(is drawnCount, d *keeper.Draw) *countText {
	k.textsMu.RLock()
	text := k.texts[is]
	k.textsMu.RUnlock()
	if text != nil {
		return text
	}
	text = newCountText(keeper.CountName(is.ration.Name, is.part), d)
	k.textsMu.Lock()
	defer k.textsMu.Unlock()
	if len(k.texts) >= mostCountTexts {
		clear(k.texts)
	}
	k.texts[is] = text
	return text
}

// newCountText writes what scripts are told of a count: what read_terms of common.lua reads.
func newCountText(name string, d *keeper.Draw) *countText {
	t := keeper.TermsOf(d)
	r := make(record, 0, 144)
	r.integers(slices.Index(ration.Shapes(), t.Shape))
	r.int64s(t.Limit)
	r.booleans(t.Assumed)
	r.int64s(t.Refill, t.Period)
	r.booleans(t.Open)
	r.int64s(t.Keep, t.Use, t.Low)
	r.booleans(t.Calendar, t.Reads, t.Stored)
	r.int64s(t.Reserve, t.Ahead)
	r.booleans(t.Paced, t.Dated)
	r.int64s(t.Own)
	r.booleans(t.Patient)
	sum := fnv.New64a()
	_, _ = sum.Write(r)
	text := &countText{field: countField + name, hot: hotField + name, terms: string(r), mark: int64(sum.Sum64()>>13)*2 + 2}
	switch {
	case t.Assumed:
	case t.Shape == ration.Concurrent:
		text.plain = !t.Dated
	default:
		text.plain = !t.Open && (t.Dated || t.Shape == ration.Sliding && !t.Reads)
	}
	return text
}

// permitText is what a permit holds but for the instant, if every draw costs what it is asked
// for: how many draws, their prices, and their counts.
func (t *rationTable) permitText(draws []keeper.Draw) (r record) {
	r = make(record, 0, 128)
	r.integers(len(draws))
	for i := range draws {
		r.integers(max(draws[i].Cost, 1))
	}
	for i := range draws {
		name := t.texts[t.count(&draws[i], draws[i].Part)-1].name()
		r = append(binary.LittleEndian.AppendUint16(r, uint16(len(name))), name...)
	}
	return r
}

// repeats notes whether draws take twice of a count: then the short ways may not be tried.
func (t *rationTable) repeats(draws []keeper.Draw) {
	for i := range draws {
		for j := range i {
			if draws[i].Ration == draws[j].Ration && draws[i].Part == draws[j].Part {
				t.plain = false
			}
		}
	}
}
