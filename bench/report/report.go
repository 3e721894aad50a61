// Package report prints measurements: one JSON object per line as they come,
// and a table for people at the end.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Line is one measurement, with the peer or the raw limit it is compared to.
type Line struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Peer names what PeerValue was measured on in the same run. Ratio is
	// Value / PeerValue, or the median of such ratios over several rounds.
	Peer      string   `json:"peer,omitempty"`
	PeerValue *float64 `json:"peer_value,omitempty"`
	Ratio     *float64 `json:"ratio,omitempty"`
	Target    string   `json:"target,omitempty"`
	OK        *bool    `json:"ok,omitempty"`
	// Detail says what else is needed to read the number.
	Detail string `json:"detail,omitempty"`
}

// Against returns the line with a peer's value and the ratio to it.
func (l Line) Against(peer string, value float64) Line {
	l.Peer, l.PeerValue = peer, &value
	if value != 0 {
		ratio := l.Value / value
		l.Ratio = &ratio
	}
	return l
}

// WithRatio replaces the ratio, by the median of several rounds.
func (l Line) WithRatio(ratio float64) Line {
	l.Ratio = &ratio
	return l
}

// Aim returns the line with its target and whether it was met.
func (l Line) Aim(target string, met bool) Line {
	l.Target, l.OK = target, &met
	return l
}

// Report collects lines.
type Report struct {
	json  *json.Encoder
	lines []Line
}

// New returns a report that writes JSON lines to out.
func New(out io.Writer) *Report {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return &Report{json: e}
}

// Add prints a line and keeps it for the table.
func (r *Report) Add(l Line) error {
	l.Value = round(l.Value)
	l.PeerValue, l.Ratio = rounded(l.PeerValue), rounded(l.Ratio)
	r.lines = append(r.lines, l)
	if err := r.json.Encode(l); err != nil {
		return fmt.Errorf("write %s: %w", l.Name, err)
	}
	return nil
}

// Table prints everything for people.
func (r *Report) Table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measurement\tvalue\tunit\tbeside\tits value\tratio\ttarget\tmet")
	for _, l := range r.lines {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			l.Name, number(&l.Value), l.Unit, dash(l.Peer), number(l.PeerValue), number(l.Ratio), dash(l.Target), met(l.OK))
	}
	return w.Flush()
}

// round keeps four significant digits: more would be noise.
func round(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	if math.Abs(v) >= 1000 {
		return math.Round(v)
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

func rounded(v *float64) *float64 {
	if v == nil {
		return nil
	}
	r := round(*v)
	return &r
}

// number writes a figure with thousands separated.
func number(v *float64) string {
	if v == nil {
		return "-"
	}
	text := strconv.FormatFloat(*v, 'f', -1, 64)
	whole, fraction, has := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	var b strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if has {
		return sign + b.String() + "." + fraction
	}
	return sign + b.String()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func met(ok *bool) string {
	switch {
	case ok == nil:
		return "-"
	case *ok:
		return "yes"
	default:
		return "NO"
	}
}
