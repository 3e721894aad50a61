package cli

import (
	"io"
	"os"

	"golang.org/x/term"

	"sluice/internal/domain"
)

// style colours text for terminals, and leaves it alone elsewhere or when
// NO_COLOR is set.
type style struct{ on bool }

func (s style) paint(code, text string) string {
	text = domain.Printable(text)
	if !s.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) green(text string) string  { return s.paint("32", text) }
func (s style) red(text string) string    { return s.paint("31", text) }
func (s style) yellow(text string) string { return s.paint("33", text) }
func (s style) dim(text string) string    { return s.paint("2", text) }

// size is a terminal's, in characters; zero where there is none.
type size struct{ width, height int }

// terminalSize is the size of the terminal behind w.
func terminalSize(w io.Writer) size {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return size{}
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 1 {
		return size{width: 80, height: 24}
	}
	return size{width, height}
}
