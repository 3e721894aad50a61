package stats

import (
	"slices"
	"strings"
	"time"
)

const (
	weeksShown = 53
	// heatLabel is the room for the names of weekdays.
	heatLabel = 4
	levels    = 5
)

// Cells of the heat map by level, from no activity to the busiest quarter of
// days. Without colour the shade tells the level.
var (
	shades = [levels]string{"·", "░", "▒", "▓", "█"}
	greens = [levels]string{"38;5;238", "38;5;22", "38;5;28", "38;5;34", "38;5;46"}
)

// heatmap is the activity of the weeks up to a day: a column a week, a row a
// weekday, as people know it from the profiles of forges.
type heatmap struct {
	firstDay, lastDay int64
	weeks             int
	// counts is indexed by day since firstDay, a Sunday.
	counts []int64
	// bounds are the quartiles of the days with activity.
	bounds [3]int64
	total  int64
}

// newHeatmap takes the last weeks, at most a year of them.
func newHeatmap(byDay map[string]int64, until time.Time, weeks int) heatmap {
	last := dayOf(until.Unix())
	m := heatmap{lastDay: last, weeks: max(1, min(weeks, weeksShown))}
	m.firstDay = last - weekdayOf(last) - int64(7*(m.weeks-1))
	var active []int64
	for day := m.firstDay; day <= last; day++ {
		n := byDay[dateOf(day)]
		m.counts = append(m.counts, n)
		m.total += n
		if n > 0 {
			active = append(active, n)
		}
	}
	slices.Sort(active)
	for i := range m.bounds {
		if len(active) > 0 {
			m.bounds[i] = active[(len(active)-1)*(i+1)/4]
		}
	}
	return m
}

// level is 0 for a day without activity, else 1 to 4 by quartile. When all
// active days are alike, they are all of the lowest level.
func (m *heatmap) level(n int64) int {
	if n == 0 {
		return 0
	}
	level := 1
	for _, bound := range m.bounds {
		if n > bound {
			level++
		}
	}
	return level
}

// lines draws the map; a cell is as many columns wide as asked.
func (m *heatmap) lines(p painter, cell int) []string {
	lines := []string{strings.Repeat(" ", heatLabel) + m.months(cell)}
	names := [7]string{1: "Mon", 3: "Wed", 5: "Fri"}
	for weekday, name := range names {
		var b strings.Builder
		b.WriteString(padRight(name, heatLabel))
		for week := range m.weeks {
			day := 7*week + weekday
			if day >= len(m.counts) {
				break
			}
			b.WriteString(p.cell(m.level(m.counts[day])))
			b.WriteString(strings.Repeat(" ", cell-1))
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// months names each month above the week of its first day; a month is at least
// four weeks, so the names never touch. The last one may find no room.
func (m *heatmap) months(cell int) string {
	line := ""
	for week := range m.weeks {
		sunday := m.firstDay + int64(7*week)
		column := week * cell
		name, begins := monthBegins(sunday)
		if begins && column+len(name) <= m.weeks*cell {
			line = padRight(line, column) + name
		}
	}
	return line
}

// monthBegins names the month whose first day is in the week from a day on.
func monthBegins(day int64) (string, bool) {
	end := time.Unix((day+6)*secondsPerDay, 0).UTC()
	return end.Format("Jan"), end.Day() <= 7
}

func padRight(s string, width int) string {
	if n := width - len([]rune(s)); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}
