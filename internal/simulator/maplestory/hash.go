package maplestory

// The odd numbers of a well-known mixer; any odd ones are invertible.
const (
	mixOne = 0xd6e8feb86659fd93
	mixTwo = 0xa0761d6478bd642f
)

// mix spreads the bits of x. It is a bijection: unmix takes it back.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= mixOne
	x ^= x >> 32
	x *= mixTwo
	return x ^ x>>32
}

func unmix(x uint64) uint64 {
	x ^= x >> 32
	x *= inverse(mixTwo)
	x ^= x >> 32
	x *= inverse(mixOne)
	return x ^ x>>32
}

// inverse finds the number that undoes a multiplication by an odd one; each
// round doubles how many bits are right.
func inverse(odd uint64) uint64 {
	x := odd
	for range 6 {
		x *= 2 - odd*x
	}
	return x
}

// derive makes a number from a seed and what it is for.
func derive(seed uint64, parts ...uint64) uint64 {
	h := mix(seed + 0x9e3779b97f4a7c15)
	for _, p := range parts {
		h = mix(h ^ (p + 0x9e3779b97f4a7c15))
	}
	return h
}

// What numbers are derived for.
const (
	forName uint64 = iota + 1
	forOcid
	forOcidRenewal
	forChange
	forWhetherChanges
	forCreation
	forClass
	forPreset
	forItem
	forPiece
	forLevel
	forNastiness
)
