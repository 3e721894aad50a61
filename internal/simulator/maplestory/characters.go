package maplestory

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Character is somebody in the simulated world.
type Character struct {
	Name string `json:"name"`
	Ocid string `json:"ocid"`
}

// Characters lists up to limit characters from an index on, with the ocids they
// have now.
func (s *Server) Characters(from, limit int) []Character {
	now := s.options.Now()
	var out []Character
	for i := max(from, 0); i < s.options.Characters && len(out) < limit; i++ {
		out = append(out, Character{Name: s.world.name(i), Ocid: s.world.ocid(i, s.world.generation(i, now))})
	}
	return out
}

// Ocid is the id that the character of an index has now.
func (s *Server) Ocid(character int) string {
	return s.world.ocid(character, s.world.generation(character, s.options.Now()))
}

// Renew gives a character a new ocid; the old one is unknown from now on. It
// reports whether there is such a character.
func (s *Server) Renew(ocid string) bool {
	now := s.options.Now()
	i, ok := s.world.character(ocid, now)
	if ok {
		s.world.renewals.add(uint64(i), now)
	}
	return ok
}

// Successor is the ocid that replaced one of this world's ocids; false when it
// is still the character's, or never was one.
func (s *Server) Successor(ocid string) (string, bool) {
	character, ok := s.world.everNamed(ocid)
	if !ok {
		return "", false
	}
	now := s.Ocid(character)
	return now, now != ocid
}

// everNamed finds whom an ocid names or once named.
func (w *world) everNamed(ocid string) (int, bool) {
	if len(ocid) != 64 {
		return 0, false
	}
	scrambled, err := strconv.ParseUint(ocid[:16], 16, 64)
	if err != nil {
		return 0, false
	}
	id := unmix(scrambled) ^ derive(w.seed, forOcid)
	character, generation := id>>generationBits, id&(1<<generationBits-1)
	return int(character), character < uint64(w.characters) && w.ocid(int(character), generation) == ocid
}

// name tells its index at its end, so that it can be found without a table.
func (w *world) name(character int) string {
	h := derive(w.seed, forName, uint64(character))
	return nameBeginnings[h%uint64(len(nameBeginnings))] + nameEnds[h>>32%uint64(len(nameEnds))] + strconv.Itoa(character)
}

func (w *world) characterNamed(name string) (int, bool) {
	at := strings.IndexAny(name, "0123456789")
	if at < 0 {
		return 0, false
	}
	i, err := strconv.Atoi(name[at:])
	if err != nil || i >= w.characters || w.name(i) != name {
		return 0, false
	}
	return i, true
}

// An ocid is the character's index and the ocid's generation, scrambled, and a
// checksum: 64 hexadecimal digits that can be read back without a table.
const generationBits = 24

func (w *world) ocid(character int, generation uint64) string {
	id := uint64(character)<<generationBits | generation&(1<<generationBits-1)
	var raw [32]byte
	binary.BigEndian.PutUint64(raw[:], mix(id^derive(w.seed, forOcid)))
	for i := 1; i < 4; i++ {
		binary.BigEndian.PutUint64(raw[8*i:], derive(w.seed, forOcid, uint64(i), id))
	}
	return hex.EncodeToString(raw[:])
}

// character finds whom an ocid names at an instant.
func (w *world) character(ocid string, at time.Time) (int, bool) {
	character, ok := w.everNamed(ocid)
	return character, ok && w.ocid(character, w.generation(character, at)) == ocid
}

// generation counts how often a character's ocid was renewed by an instant.
func (w *world) generation(character int, at time.Time) uint64 {
	return w.ticks(w.renewEvery, derive(w.seed, forOcidRenewal, uint64(character)), at) + w.renewals.count(uint64(character), at)
}
