package web

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/httpapi/wire"
)

const (
	chartWidth, chartHeight = 960, 240
	// Around the drawing is room for what the axes say.
	chartLeft, chartRight, chartTop, chartBottom = 76, 12, 10, 24
	// chartGroups is how many columns stand beside each other at most, chartSeries how
	// many numbers each row may have.
	chartGroups, chartSeries = 60, 6
)

// chart draws the answer of a statement: lines over time where the first column has
// dates, and columns otherwise.
type chart struct {
	Width, Height, Left, Right int
	Title                      string
	Series                     []chartLine
	Bars                       []bar
	Grid                       []label
	Ticks                      []label
}

// chartLine is one column of numbers.
type chartLine struct {
	Name   string
	Number int
	Points string
}

// bar is one number.
type bar struct {
	X, Y, Width, Height float64
	Number              int
	Text                string
}

// numbered is a row as a chart has it; what is not known is NaN.
type numbered struct {
	name   string
	at     time.Time
	values []float64
}

// chartOf draws an answer whose first column has dates or names and whose others have
// numbers; nil where that is not so, or where there is nothing to compare.
func chartOf(a wire.SQLAnswer) *chart {
	series := len(a.Columns) - 1
	if series < 1 || series > chartSeries || len(a.Rows) < 2 {
		return nil
	}
	rows, dated, ok := numbersOf(a)
	if !ok || !dated && len(rows) > chartGroups {
		return nil
	}
	c := &chart{Width: chartWidth, Height: chartHeight, Left: chartLeft, Right: chartWidth - chartRight}
	c.Title = strings.Join(a.Columns[1:], ", ") + " by " + a.Columns[0]
	for i, name := range a.Columns[1:] {
		c.Series = append(c.Series, chartLine{Name: name, Number: i})
	}
	least, most := 0.0, 0.0
	for _, r := range rows {
		for _, v := range r.values {
			if !math.IsNaN(v) {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	if least == most {
		most++
	}
	scale := func(v float64) float64 {
		return chartTop + (most-v)/(most-least)*(chartHeight-chartTop-chartBottom)
	}
	for _, v := range slices.Compact([]float64{least, (least + most) / 2, most}) {
		c.Grid = append(c.Grid, label{X: chartLeft - 8, Y: int(scale(v)), Text: axisNumber(v)})
	}
	if dated {
		c.lines(rows, scale)
	} else {
		c.columns(rows, scale)
	}
	return c
}

// numbersOf reads the rows of an answer; dated says that each has a date.
func numbersOf(a wire.SQLAnswer) (rows []numbered, dated, ok bool) {
	dated = true
	for _, row := range a.Rows {
		r := numbered{name: shownValue(row[0])}
		var err error
		if r.at, err = dateOf(r.name); err != nil {
			dated = false
		}
		for _, raw := range row[1:] {
			text, v := value(raw), math.NaN()
			if text != "–" {
				// Some stores tell exact numbers as texts.
				if v, err = strconv.ParseFloat(text, 64); err != nil || math.IsInf(v, 0) {
					return nil, false, false
				}
			}
			r.values = append(r.values, v)
		}
		rows = append(rows, r)
	}
	return rows, dated, true
}

func dateOf(text string) (t time.Time, err error) {
	for _, layout := range []string{"2006-01", time.DateOnly, time.RFC3339Nano, time.DateTime, "2006-01-02 15:04:05.999999"} {
		if t, err = time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return t, err
}

// axisNumber is short enough for an axis.
func axisNumber(v float64) string {
	size := math.Abs(v)
	if size >= 1e18 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	for _, step := range []struct {
		of   float64
		name string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}} {
		if size >= step.of {
			return strconv.FormatFloat(v/step.of, 'f', 1, 64) + " " + step.name
		}
	}
	if size >= 1e4 {
		return strconv.FormatFloat(v/1e3, 'f', 0, 64) + " k"
	}
	return number(v)
}

// lines draws numbers over time.
func (c *chart) lines(rows []numbered, scale func(float64) float64) {
	slices.SortStableFunc(rows, func(a, b numbered) int { return a.at.Compare(b.at) })
	first, last := rows[0].at, rows[len(rows)-1].at
	length := max(float64(last.Sub(first)), 1)
	x := func(t time.Time) float64 {
		return chartLeft + float64(t.Sub(first))/length*(chartWidth-chartLeft-chartRight)
	}
	for i := range c.Series {
		var points []string
		for _, r := range rows {
			if v := r.values[i]; !math.IsNaN(v) {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x(r.at), scale(v)))
			}
		}
		c.Series[i].Points = strings.Join(points, " ")
	}
	for _, r := range []numbered{rows[0], rows[len(rows)/2], rows[len(rows)-1]} {
		tick := label{X: int(x(r.at)), Y: chartHeight - 6, Text: short(r.name, 16), Last: r.at.Equal(last)}
		if n := len(c.Ticks); n == 0 || tick.X-c.Ticks[n-1].X > 160 {
			c.Ticks = append(c.Ticks, tick)
		}
	}
}

// columns draws a group of columns for each row.
func (c *chart) columns(rows []numbered, scale func(float64) float64) {
	group := float64(chartWidth-chartLeft-chartRight) / float64(len(rows))
	each := group * 0.8 / float64(len(c.Series))
	for i, r := range rows {
		left := chartLeft + group*(float64(i)+0.1)
		for k, v := range r.values {
			if math.IsNaN(v) {
				continue
			}
			top, zero := scale(v), scale(0)
			c.Bars = append(c.Bars, bar{
				X: left + each*float64(k), Y: min(top, zero), Width: math.Max(1, each-1), Height: math.Abs(zero - top), Number: k,
				Text: r.name + ": " + c.Series[k].Name + " " + number(v),
			})
		}
		// A name stands below its columns where there is room for it.
		if room := int(group / 7); room >= 4 {
			// Of a path its end tells more.
			name := r.name[strings.LastIndexByte(strings.TrimSuffix(r.name, "/"), '/')+1:]
			c.Ticks = append(c.Ticks, label{X: int(left + group*0.4), Y: chartHeight - 6, Text: short(name, room)})
		}
	}
	if len(c.Ticks) == 0 {
		for _, i := range []int{0, len(rows) - 1} {
			c.Ticks = append(c.Ticks, label{X: int(chartLeft + group*(float64(i)+0.5)), Y: chartHeight - 6, Text: short(rows[i].name, 24), Last: i > 0})
		}
	}
}

// Legend says whether the numbers need their names.
func (c *chart) Legend() bool { return len(c.Series) > 1 }

// Over says whether it is one over time.
func (c *chart) Over() bool { return len(c.Bars) == 0 }
