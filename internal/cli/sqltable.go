package cli

import (
	"io"
	"strings"
	"unicode/utf8"

	"sluice/internal/httpapi/wire"
)

// narrowest is how far a column of a table is cut, if the terminal is small.
const narrowest = 6

// sqlTable writes an answer in columns, numbers to the right. On a terminal no line
// is wider than that, as long as its columns can be cut; elsewhere nothing is cut.
func sqlTable(w io.Writer, answer wire.SQLAnswer, terminal int) {
	if len(answer.Columns) == 0 {
		return
	}
	rows, right := sqlCells(answer)
	widths := make([]int, len(answer.Columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	if terminal > 0 {
		narrow(widths, terminal)
	}
	var out strings.Builder
	for n, row := range rows {
		line := ""
		for i, cell := range row {
			if i > 0 {
				line += "  "
			}
			cell = ellipsized(cell, widths[i])
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right[i] {
				line += space + cell
			} else {
				line += cell + space
			}
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
		if n == 0 {
			rule := make([]string, len(widths))
			for i := range rule {
				rule[i] = strings.Repeat("─", widths[i])
			}
			out.WriteString(strings.Join(rule, "  ") + "\n")
		}
	}
	_, _ = io.WriteString(w, out.String())
}

// sqlCells are the lines of a table, with its head, and which columns hold numbers
// alone.
func sqlCells(answer wire.SQLAnswer) (rows [][]string, right []bool) {
	head := make([]string, len(answer.Columns))
	right = make([]bool, len(head))
	for i, name := range answer.Columns {
		head[i], right[i] = printableCell(name), len(answer.Rows) > 0
	}
	rows = append(rows, head)
	for _, row := range answer.Rows {
		cells := make([]string, len(row))
		for i := range row {
			text, number := shownSQL(row[i])
			cells[i] = printableCell(text)
			right[i] = right[i] && (number || text == "")
		}
		rows = append(rows, cells)
	}
	return rows, right
}

// narrow makes the widest columns narrower until all of them fit.
func narrow(widths []int, terminal int) {
	for {
		total, widest := 2*(len(widths)-1), 0
		for i, w := range widths {
			total += w
			if w > widths[widest] {
				widest = i
			}
		}
		if total <= terminal || widths[widest] <= narrowest {
			return
		}
		widths[widest]--
	}
}

// ellipsized cuts a text to a width, with an ellipsis where something is missing.
func ellipsized(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(width-1, 0)]) + "…"
}
