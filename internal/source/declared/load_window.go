package declared

import "time"

// window reads how long slices of time are.
func (l *loader) window(s *Stream, n node) {
	if !n.is() {
		return
	}
	if s.window = n.duration(); s.window < time.Minute || s.window%time.Second != 0 {
		n.wrong("give one such as 30d, of a minute at least", "%q is too short for a slice of time", n.text())
	}
}

// senseOfWindow reports slices that cannot be asked for, and a count of nothing.
func (l *loader) senseOfWindow(s *Stream, n node) {
	switch {
	case s.window == 0:
	case s.first != nil || s.changes != nil:
		n.get("window").wrong("put {cursor} and {until} into get, and leave out first and changes", "slices of time are for the one request that follows what changed")
	case !s.get.uses("cursor") || !s.get.uses("until"):
		n.get("window").wrong("put {cursor} and {until} into get", "the request does not say since when and until when")
	case !n.get("cursor").get("start").is():
		n.get("window").wrong("give cursor: {start: 2020-01-01}", "it does not say where the first slice begins")
	case s.cursor.as == asDate && s.window < 24*time.Hour:
		n.get("window").wrong("give a day or more", "the cursor is a date, so that a slice has at least a day")
	}
	if s.count != nil && s.Parent != nil && !s.count.uses(s.Parent.Name) {
		n.get("count").wrong("put {"+s.Parent.Name+".…} into its address", "it is asked for each of %s, and does not say which", s.Parent.Name)
	}
}
