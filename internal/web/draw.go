package web

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

// newKey names what a form asks for: sent twice, it is done once.
func newKey() string { return rand.Text() }

// line is a curve: the points of an SVG polyline, and of the area below it.
type line struct {
	Width, Height int
	Points, Area  string
	Max           float64
	// Known is false while there are too few values for a curve.
	Known bool
}

// curve draws values, the latest on the right.
func curve(values []float64, width, height int) line {
	l := line{Width: width, Height: height, Known: len(values) > 1}
	for _, v := range values {
		l.Max = max(l.Max, v)
	}
	if !l.Known {
		return l
	}
	points := make([]string, len(values))
	for i, v := range values {
		y := float64(height) - 1
		if l.Max > 0 {
			y -= v / l.Max * float64(height-3)
		}
		points[i] = fmt.Sprintf("%.1f,%.1f", float64(i)*float64(width)/float64(len(values)-1), y)
	}
	l.Points = strings.Join(points, " ")
	l.Area = fmt.Sprintf("0,%d %s %d,%d", height, l.Points, width, height)
	return l
}

// cell is one day of a heat map; its Level is 0 (nothing) to 4.
type cell struct {
	X, Y, Level int
	Day         string
	Count       int64
}

// heat is a year of days, a column for each week.
type heat struct {
	Width, Height int
	Cells         []cell
	Months        []label
	Total         int64
}

type label struct {
	X, Y int
	Text string
	// Last labels end at X.
	Last bool
}

const cellSize = 12

// yearOf draws the days of the year that ends with a day.
func yearOf(byDay map[string]int64, until time.Time) heat {
	until = until.UTC().Truncate(24 * time.Hour)
	from := until.AddDate(-1, 0, 1)
	from = from.AddDate(0, 0, -int(from.Weekday()))
	h := heat{Height: 7*cellSize + 16}
	var most int64
	for day := from; !day.After(until); day = day.AddDate(0, 0, 1) {
		most = max(most, byDay[day.Format(time.DateOnly)])
	}
	week, month := 0, time.Month(0)
	for day := from; !day.After(until); day = day.AddDate(0, 0, 1) {
		name := day.Format(time.DateOnly)
		n := byDay[name]
		level := 0
		if n > 0 {
			level = min(4, 1+int(4*n/(most+1)))
		}
		if day.Weekday() == time.Sunday && day.Month() != month {
			if last := len(h.Months) - 1; last < 0 || week*cellSize-h.Months[last].X >= 2*cellSize {
				h.Months = append(h.Months, label{X: week * cellSize, Y: 10, Text: day.Format("Jan")})
			}
			month = day.Month()
		}
		h.Cells = append(h.Cells, cell{X: week * cellSize, Y: 16 + int(day.Weekday())*cellSize, Level: level, Day: name, Count: n})
		h.Total += n
		if day.Weekday() == time.Saturday {
			week++
		}
	}
	h.Width = (week + 1) * cellSize
	return h
}

// mark is one thing on a time axis.
type mark struct {
	X, Y int
	Name string
	At   time.Time
}

// axis is what is to come, on a line from now on.
type axis struct {
	Width, Height int
	Marks         []mark
	Ticks         []label
	Ends          time.Time
}

// ahead draws instants between now and the last of them; those that are close stand
// above each other.
func ahead(now time.Time, at []time.Time, names []string) axis {
	const width, rows = 900, 4
	a := axis{Width: width, Height: 74}
	length := time.Minute
	for _, t := range at {
		length = max(length, t.Sub(now))
	}
	a.Ends = now.Add(length)
	used := map[int]int{}
	for i, t := range at {
		x := 10 + int(float64(width-20)*float64(max(0, t.Sub(now)))/float64(length))
		slot := x / 9
		y := 44 - 10*(used[slot]%rows)
		used[slot]++
		a.Marks = append(a.Marks, mark{X: x, Y: y, Name: names[i], At: t})
	}
	for i := range 5 {
		text := "now"
		if i > 0 {
			text = "in " + span(length*time.Duration(i)/4)
		}
		a.Ticks = append(a.Ticks, label{X: 10 + i*(width-20)/4, Y: 70, Text: text, Last: i == 4})
	}
	return a
}

// column is a bar of a histogram.
type column struct {
	X, Y, Width, Height int
	Count               int64
	Name                string
}

// histogram draws counts as columns with their names below.
func histogram(counts []int64, names []string, width, height int) []column {
	var most int64
	for _, n := range counts {
		most = max(most, n)
	}
	columns := make([]column, len(counts))
	each := width / max(1, len(counts))
	for i, n := range counts {
		tall := 0
		if n > 0 {
			tall = max(2, int(float64(height)*float64(n)/float64(most)))
		}
		columns[i] = column{X: i*each + 2, Y: height - tall, Width: each - 4, Height: tall, Count: n, Name: names[i]}
	}
	return columns
}
