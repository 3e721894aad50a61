package document

import "time"

// Held is a document as a store holds it, as far as that decides what a change is.
type Held struct {
	Key
	Version, SeenAt time.Time
	Repository      int64
	// Title is known of containers.
	Title string
	// Content stands for all that its row and its payload show beside that; 0 if it
	// is not known.
	Content int64
	// Mark is what was claimed of its absence.
	Mark Mark
}

// Presence is what a store holds of a container: when it was last seen, and what
// was claimed of its absence.
type Presence struct {
	SeenAt time.Time
	Mark   Mark
}

// Absent is the absence of a container, none if it was seen again.
func (p Presence) Absent() Mark {
	if !p.Mark.Holds(p.SeenAt) {
		return Mark{}
	}
	return p.Mark
}

// Take is what becomes of a document when a copy of it arrives: of two copies the
// newer wins, of two of the same version the later arrival, and any of them was
// seen. It says whether the copy is what is to be stored. None is held if it is nil.
func (h *Held) Take(arrived *Held) (after Held, won bool) {
	if h == nil {
		return *arrived, true
	}
	after = *h
	if !arrived.Version.Before(h.Version) {
		after, won = *arrived, true
		after.Mark = h.Mark
	}
	after.SeenAt = h.SeenAt
	if arrived.SeenAt.After(h.SeenAt) {
		after.SeenAt = arrived.SeenAt
	}
	return after, won && (!h.sameContent(&after) || !h.Version.Equal(after.Version))
}

// sameContent: a version that is merely later, such as the time at which something was
// fetched, is nothing that anybody sees.
func (h *Held) sameContent(o *Held) bool {
	return h.Content == o.Content && h.Repository == o.Repository
}

// Judge says what happened to a document, "" if nothing did: what was held before,
// nil if nothing was, and after; the absences of the containers that it was and is
// in; and whether what its row shows of the container has changed.
func (k Kinds) Judge(before, after *Held, was, is Mark, renamed bool) What {
	if before == nil {
		return Created
	}
	old, now := k.absence(before, was), k.absence(after, is)
	switch {
	case now.Deleted && (!old.Deleted || old.GoneWhy != now.GoneWhy):
		return Deleted
	case old.Deleted != now.Deleted, !old.GoneSince.Equal(now.GoneSince), renamed && k.ShowsContainer(after.Kind), !before.sameContent(after):
		return Updated
	}
	return ""
}

func (k Kinds) absence(h *Held, container Mark) Fields {
	d := Document{Key: h.Key, SeenAt: h.SeenAt}
	k.SetGone(&d, h.Mark, container)
	return d.Fields
}

// ShowsContainer says whether rows of a kind show the title of the container that
// they are in.
func (k Kinds) ShowsContainer(kind Kind) bool {
	d := k.Of(kind)
	if d == nil {
		return false
	}
	for i := range d.Columns {
		if d.Columns[i].From == FromContainerTitle {
			return true
		}
	}
	return false
}
