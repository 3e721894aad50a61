package maplestory

import "strconv"

// buffer builds JSON by appending. It puts the commas where they belong. Keys
// and strings need no escaping here.
type buffer struct{ b []byte }

func (w *buffer) comma() {
	if n := len(w.b); n > 0 {
		switch w.b[n-1] {
		case '{', '[', ':':
		default:
			w.b = append(w.b, ',')
		}
	}
}

func (w *buffer) key(name string) *buffer {
	w.comma()
	w.b = append(append(append(w.b, '"'), name...), '"', ':')
	return w
}

func (w *buffer) open(bracket byte) {
	w.comma()
	w.b = append(w.b, bracket)
}

func (w *buffer) close(bracket byte) { w.b = append(w.b, bracket) }

// raw writes a member whose value is JSON already.
func (w *buffer) raw(name, value string) { w.b = append(w.key(name).b, value...) }

func (w *buffer) int(name string, n int) { w.b = strconv.AppendInt(w.key(name).b, int64(n), 10) }

// str writes a string made of parts.
func (w *buffer) str(name string, parts ...string) {
	w.b = append(w.key(name).b, '"')
	for _, p := range parts {
		w.b = append(w.b, p...)
	}
	w.b = append(w.b, '"')
}

// digits writes a number as a string, as the API does for most of them.
func (w *buffer) digits(name string, n int) {
	w.b = strconv.AppendInt(append(w.key(name).b, '"'), int64(n), 10)
	w.b = append(w.b, '"')
}
