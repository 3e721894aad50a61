package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"text/tabwriter"
	"time"

	"sluice/internal/domain"
)

// printJSON writes one value as indented JSON. What a terminal would obey is
// escaped, which is the same value.
func printJSON(w io.Writer, v any) error { return writeJSON(w, v, "  ") }

// printLine writes one value as a line of JSON, for programs that read along.
func printLine(w io.Writer, v any) error { return writeJSON(w, v, "") }

func writeJSON(w io.Writer, v any, indent string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, domain.PrintableJSON(text.String()))
	return err
}

// painted is text that the program has made and coloured itself; whatever of it
// came from outside is printable already.
type painted string

// say writes a message. Its values may be what others chose, such as logins,
// titles and errors: they are made printable, so that none can move the cursor or
// look like a line of the program.
func say(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format, printable(args)...) }

func printable(args []any) []any {
	safe := make([]any, len(args))
	for i, arg := range args {
		safe[i] = arg
		switch v := arg.(type) {
		case painted:
			safe[i] = string(v)
		case error:
			safe[i] = domain.Printable(v.Error())
		case json.RawMessage:
		default:
			if reflect.ValueOf(arg).Kind() == reflect.String {
				safe[i] = domain.Printable(fmt.Sprint(arg))
			}
		}
	}
	return safe
}

// table writes rows in aligned columns; their values are made printable as say's.
func table(w io.Writer, header string, rows func(line func(format string, args ...any))) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, header)
	rows(func(format string, args ...any) { say(t, format+"\n", args...) })
	return t.Flush()
}

// when is a time with its date and zone: whoever reads it may be elsewhere.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

// moment is an instant for a line that has little room: without its date if that
// is today.
func moment(t, now time.Time) string {
	if t.Local().Format(time.DateOnly) == now.Local().Format(time.DateOnly) {
		return t.Local().Format("15:04:05Z07")
	}
	return when(t)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
