package github

import (
	"encoding/binary"
	"encoding/hex"
)

// The kinds keep the draws for different things independent of each other.
const (
	kindAccount uint64 = iota + 1
	kindRepo
	kindCommit
	kindItem
	kindEvent
	kindToken
	kindMutation
	kindAuthors
	kindFile
	kindNasty
	kindMember
	kindTeam
	kindPart
)

const golden = 0x9e3779b97f4a7c15

// mix is a bijection that spreads every input bit over the whole word.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}

// unmix undoes mix; it is what turns a commit's sha back into its index.
func unmix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0x9cb4b2f8129337db
	x ^= x >> 33
	x *= 0x4f74430c22a54005
	x ^= x >> 33
	return x
}

func derive(key, kind, index uint64) uint64 {
	return mix(key ^ mix(kind*golden^index))
}

// draws hands out independent numbers derived from one key.
type draws struct{ state uint64 }

func (d *draws) next() uint64 {
	d.state += golden
	return mix(d.state)
}

// below draws from [0, n); n below one gives zero.
func (d *draws) below(n int64) int64 {
	if n < 1 {
		return 0
	}
	return int64(d.next() % uint64(n))
}

// within draws from r, both ends included.
func (d *draws) within(r Range) int {
	return r.Min + int(d.below(int64(r.Max-r.Min+1)))
}

// oneIn is true in one of n draws.
func (d *draws) oneIn(n int64) bool { return d.below(n) == 0 }

// shaOf names commit i of the repository with this key. Its first eight bytes
// are a bijection of i, so commitIndex needs no table.
func shaOf(key uint64, i int) string {
	var raw [20]byte
	head := mix(uint64(i) + key)
	tail := derive(key, kindCommit, head)
	for b := range 8 {
		raw[b] = byte(head >> (56 - 8*b))
		raw[8+b] = byte(tail >> (56 - 8*b))
	}
	last := mix(tail)
	for b := range 4 {
		raw[16+b] = byte(last >> (24 - 8*b))
	}
	return hex.EncodeToString(raw[:])
}

// commitIndex finds which commit of the repository carries sha; it may lie
// outside what the repository holds.
func commitIndex(key uint64, sha string) (int, bool) {
	if len(sha) != 40 {
		return 0, false
	}
	raw, err := hex.DecodeString(sha[:16])
	if err != nil {
		return 0, false
	}
	var head uint64
	for _, b := range raw {
		head = head<<8 | uint64(b)
	}
	i := int(unmix(head) - key)
	return i, i >= 0 && shaOf(key, i) == sha
}

// digest fingerprints a rendered body for ETags and repetition checks. Four
// independent lanes keep the multiplier busy on large pages; blocks are copied,
// because the race detector looks at a copied block once, and else at each byte.
func digest(body []byte) uint64 {
	const odd = 0xff51afd7ed558ccd
	lanes := [4]uint64{golden, 2, 3, uint64(len(body))}
	for len(body) >= 32 {
		block := [32]byte(body)
		for i := range lanes {
			h := (lanes[i] ^ binary.LittleEndian.Uint64(block[8*i:])) * odd
			lanes[i] = h ^ h>>32
		}
		body = body[32:]
	}
	h := mix(lanes[0]) ^ mix(lanes[1]+golden) ^ mix(lanes[2]+odd) ^ mix(lanes[3]^golden)
	for _, b := range body {
		h = (h ^ uint64(b)) * 0xc4ceb9fe1a85ec53
		h ^= h >> 32
	}
	return mix(h)
}
