package stats

// painter colours text with ANSI sequences, or leaves it as it is.
type painter struct{ color bool }

var barColors = [...]string{"36", "32", "33", "35", "34", "31", "96", "37"}

func (p painter) bold(s string) string { return p.with("1", s) }

func (p painter) bar(i int, s string) string { return p.with(barColors[i%len(barColors)], s) }

func (p painter) cell(level int) string {
	if !p.color {
		return shades[level]
	}
	return p.with(greens[level], "■")
}

func (p painter) with(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
