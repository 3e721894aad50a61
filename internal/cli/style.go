package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// style colours text for terminals, and leaves it alone elsewhere or when
// NO_COLOR is set.
type style struct{ on bool }

func (s style) paint(code, text string) string {
	if !s.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) green(text string) string  { return s.paint("32", text) }
func (s style) red(text string) string    { return s.paint("31", text) }
func (s style) yellow(text string) string { return s.paint("33", text) }
func (s style) dim(text string) string    { return s.paint("2", text) }
func (s style) bold(text string) string   { return s.paint("1", text) }

// terminalWidth is the width of the terminal behind w, 0 if there is none.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		return 80
	}
	return width
}
