package tables

import (
	"cmp"
	"context"
	"slices"

	"sluice/internal/document"
)

// Packed are documents on their way into a transaction.
type Packed[P any] struct {
	docs []document.Document
	held []document.Held
	// containers are the places of those that others lie in.
	containers []int
	sightings  []document.Sighting
	rows       P
}

// Docs are the documents.
func (p *Packed[P]) Docs() []document.Document { return p.docs }

// Home is a container, as what others lie in. Alone says that whoever asks for it
// changes what it shows of those, and not merely what lies in it.
type Home struct {
	Account, Repository int64
	Alone               bool
}

// Seen is a document that was seen, and nothing else of it is new.
type Seen struct {
	document.Key
	At int64 // microseconds since 1970
}

type homeID struct{ account, repository int64 }

// ledger is what a transaction meets and what it makes of it.
type ledger struct {
	homes map[homeID]*home
	docs  map[document.Key]*entry
	order []*entry
}

type home struct {
	alone, met    bool
	before, after document.Presence
	renamed       bool
}

type entry struct {
	// before is nil if there was no such document.
	before  *document.Held
	after   document.Held
	written bool
	// pack and place are where the copy is that is stored, if written.
	pack, place int
}

// Write stores documents inside a transaction, then claims absences, and logs all
// that changes by it. Who stores something takes its container's row before: with
// others, unless it changes what that shows of all that lies in it. So each of two
// who meet there logs what the other has left.
func (s *Store[T, P]) Write(ctx context.Context, t T, packed []*Packed[P], absences []document.Absence) error {
	if err := s.kinds.CheckAbsences(absences); err != nil {
		return err
	}
	l := newLedger(packed, absences)
	if err := s.meetHomes(ctx, t, l); err != nil {
		return err
	}
	if err := s.store(ctx, t, l, packed); err != nil {
		return err
	}
	for i := range absences {
		if err := s.claim(ctx, t, l, &absences[i]); err != nil {
			return err
		}
	}
	return s.log(ctx, t, l)
}

func newLedger[P any](packed []*Packed[P], absences []document.Absence) *ledger {
	l := &ledger{homes: map[homeID]*home{}}
	size := 0
	for _, p := range packed {
		size += len(p.docs)
		for i := range p.held {
			l.home(p.held[i].Account, p.held[i].Repository)
		}
		for _, i := range p.containers {
			l.home(p.held[i].Account, p.held[i].Repository).alone = true
		}
	}
	for i := range absences {
		h := l.home(absences[i].Account, absences[i].Repository)
		h.alone = h.alone || absences[i].Kind == ""
	}
	l.docs, l.order = make(map[document.Key]*entry, size), make([]*entry, 0, size)
	return l
}

func (l *ledger) home(account, repository int64) *home {
	id := homeID{account, repository}
	h := l.homes[id]
	if h == nil {
		// Nothing is ever claimed of what has no container.
		h = &home{met: repository == 0}
		l.homes[id] = h
	}
	return h
}

// meetHomes reads containers that were not met yet.
func (s *Store[T, P]) meetHomes(ctx context.Context, t T, l *ledger) error {
	var homes []Home
	for id, h := range l.homes {
		if !h.met {
			homes = append(homes, Home{id.account, id.repository, h.alone})
			h.met = true
		}
	}
	if len(homes) == 0 {
		return nil
	}
	slices.SortFunc(homes, func(a, b Home) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Repository, b.Repository))
	})
	return s.rows.Homes(ctx, t, homes, func(id Home, p document.Presence) {
		h := l.home(id.Account, id.Repository)
		h.before, h.after = p, p
	})
}

// store brings documents together with what is held of them, and writes what is
// new: of documents that are there only those that bring something.
func (s *Store[T, P]) store(ctx context.Context, t T, l *ledger, packed []*Packed[P]) error {
	if len(packed) == 0 {
		return nil
	}
	if err := s.meet(ctx, t, l, packed); err != nil {
		return err
	}
	containers := map[*entry]bool{}
	for n, p := range packed {
		for i := range p.held {
			l.take(&p.held[i], n, i)
		}
		for _, i := range p.containers {
			containers[l.docs[p.held[i].Key]] = true
		}
		for _, sighting := range p.sightings {
			if h := l.home(sighting.Account, sighting.Repository); sighting.At.After(h.after.SeenAt) {
				h.after.SeenAt = instant(micros(sighting.At))
			}
		}
	}
	for e := range containers {
		e.rename(l)
	}
	if err := s.writeEntries(ctx, t, l, packed); err != nil {
		return err
	}
	for _, p := range packed {
		if len(p.sightings) > 0 {
			if err := s.rows.Sight(ctx, t, p.sightings); err != nil {
				return err
			}
		}
	}
	return nil
}

// meet reads what is held of documents.
func (s *Store[T, P]) meet(ctx context.Context, t T, l *ledger, packed []*Packed[P]) error {
	var keys []document.Key
	for _, p := range packed {
		for i := range p.held {
			if _, met := l.docs[p.held[i].Key]; !met {
				l.docs[p.held[i].Key] = nil
				keys = append(keys, p.held[i].Key)
			}
		}
	}
	slices.SortFunc(keys, compareKeys)
	err := s.rows.Held(ctx, t, keys, func(h *document.Held) {
		e := &entry{before: h, after: *h}
		l.docs[h.Key] = e
		l.order = append(l.order, e)
		l.home(h.Account, h.Repository)
	})
	if err != nil {
		return err
	}
	return s.meetHomes(ctx, t, l)
}

func compareKeys(a, b document.Key) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// take notes that a copy of a document has arrived.
func (l *ledger) take(arrived *document.Held, pack, place int) {
	e := l.docs[arrived.Key]
	if e == nil {
		e = &entry{after: *arrived, written: true, pack: pack, place: place}
		l.docs[arrived.Key] = e
		l.order = append(l.order, e)
		return
	}
	after, won := e.after.Take(arrived)
	if e.after = after; won {
		e.written, e.pack, e.place = true, pack, place
	}
}

// rename notes whether a container has another title.
func (e *entry) rename(l *ledger) {
	title := ""
	if e.before != nil {
		title = e.before.Title
	}
	if h := l.home(e.after.Account, e.after.Repository); title != e.after.Title {
		h.renamed = true
	}
}

// writeEntries stores the copies that are new, each in the pack it came in, and
// that the others were seen.
func (s *Store[T, P]) writeEntries(ctx context.Context, t T, l *ledger, packed []*Packed[P]) error {
	write := make([]Chosen[P], len(packed))
	for n, p := range packed {
		write[n] = Chosen[P]{Packed: p.rows, Docs: p.docs, Held: p.held}
	}
	var seen []Seen
	for _, e := range l.order {
		arrived := int64(0) // what the row itself brings
		switch {
		case e.written && e.before == nil:
			write[e.pack].New = append(write[e.pack].New, e.place)
		case e.written:
			write[e.pack].Known = append(write[e.pack].Known, e.place)
		}
		if e.written {
			arrived = micros(packed[e.pack].held[e.place].SeenAt)
		}
		if e.before != nil {
			arrived = max(arrived, micros(e.before.SeenAt))
		}
		if at := micros(e.after.SeenAt); at > arrived {
			seen = append(seen, Seen{e.after.Key, at})
		}
	}
	write = slices.DeleteFunc(write, func(c Chosen[P]) bool { return len(c.New)+len(c.Known) == 0 })
	if len(write) > 0 {
		if err := s.rows.Store(ctx, t, write); err != nil {
			return err
		}
	}
	if len(seen) == 0 {
		return nil
	}
	slices.SortFunc(seen, func(a, b Seen) int { return compareKeys(a.Key, b.Key) })
	return s.rows.Seen(ctx, t, seen)
}

// claim claims an absence.
func (s *Store[T, P]) claim(ctx context.Context, t T, l *ledger, a *document.Absence) error {
	since, unseen := instant(micros(a.Since)), instant(micros(a.NotSeenSince))
	if a.Kind == "" {
		h := l.home(a.Account, a.Repository)
		h.after.Mark = h.after.Mark.Claim(h.after.SeenAt, a.Why, since)
		return s.rows.FlagRepository(ctx, t, a)
	}
	if len(a.With) > 0 {
		return s.follow(ctx, t, l, a)
	}
	err := s.rows.Unseen(ctx, t, a, func(h *document.Held) {
		e := l.meet(h)
		if e.after.SeenAt.Before(unseen) {
			e.after.Mark = e.after.Mark.Claim(e.after.SeenAt, a.Why, since)
		}
	})
	if err != nil {
		return err
	}
	return s.rows.FlagUnseen(ctx, t, a)
}

// meet is the entry of a document that lies in the store.
func (l *ledger) meet(h *document.Held) *entry {
	e := l.docs[h.Key]
	if e == nil {
		e = &entry{before: h, after: *h}
		l.docs[h.Key] = e
		l.order = append(l.order, e)
	}
	return e
}

// follow lets things go and come back with those that they belong to.
func (s *Store[T, P]) follow(ctx context.Context, t T, l *ledger, a *document.Absence) error {
	gone := map[int64]bool{}
	for _, kind := range a.With {
		err := s.rows.Gone(ctx, t, a.Account, a.Repository, kind, func(h *document.Held, number int64) { gone[a.NumberOf(h.Name, number)] = true })
		if err != nil {
			return err
		}
	}
	followers := a.Followers(gone)
	for i := range followers {
		if err := s.claim(ctx, t, l, &followers[i]); err != nil {
			return err
		}
	}
	at := micros(a.Since)
	var back []Seen
	err := s.rows.Gone(ctx, t, a.Account, a.Repository, a.Kind, func(h *document.Held, number int64) {
		if !gone[number] && micros(h.Mark.Last) < at {
			l.meet(h).after.SeenAt = instant(at)
			back = append(back, Seen{h.Key, at})
		}
	})
	if err != nil || len(back) == 0 {
		return err
	}
	slices.SortFunc(back, func(a, b Seen) int { return compareKeys(a.Key, b.Key) })
	return s.rows.Seen(ctx, t, back)
}

// log writes what has changed: of the documents that were met, and of all that lies
// in containers that have changed.
func (s *Store[T, P]) log(ctx context.Context, t T, l *ledger) error {
	log := s.newLog(ctx, t)
	for _, e := range l.order {
		s.judge(log, l, e.before, &e.after)
	}
	for id, h := range l.homes {
		if h.before.Absent() == h.after.Absent() && !h.renamed {
			continue
		}
		err := s.rows.Inside(ctx, t, id.account, id.repository, func(held *document.Held) {
			if _, met := l.docs[held.Key]; !met {
				s.judge(log, l, held, held)
			}
		})
		if err != nil {
			return err
		}
	}
	return log.close()
}

func (s *Store[T, P]) judge(log *changeLog, l *ledger, before, after *document.Held) {
	is := l.home(after.Account, after.Repository)
	was := is
	if before != nil {
		was = l.home(before.Account, before.Repository)
	}
	what := s.kinds.Judge(before, after, was.before.Absent(), is.after.Absent(), is.renamed)
	if what != "" {
		log.add(&after.Key, what, after.Version)
	}
}
