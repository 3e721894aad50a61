package redis

import (
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
)

// sequenceBits is how many bits of an offset count the entries of one
// millisecond: two millions of one partition. The others suffice until 2109.
const sequenceBits = 21

// offsetOf makes an offset of the id of an entry, which is
// <milliseconds>-<number>. Later ids make larger offsets.
func offsetOf(id string) (int64, error) {
	before, after, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(before, 10, 64)
	if err != nil {
		return 0, domain.Errorf(domain.CodeCorrupt, "the id %q of an entry cannot be understood: %w", id, err)
	}
	number, err := strconv.ParseInt(after, 10, 64)
	if err != nil {
		return 0, domain.Errorf(domain.CodeCorrupt, "the id %q of an entry cannot be understood: %w", id, err)
	}
	return ms<<sequenceBits + number, nil
}

// idOf is the inverse of offsetOf.
func idOf(offset int64) string {
	return strconv.FormatInt(offset>>sequenceBits, 10) + "-" + strconv.FormatInt(offset&(1<<sequenceBits-1), 10)
}

// timeOf is when an entry was added.
func timeOf(offset int64) time.Time { return time.UnixMilli(offset >> sequenceBits).UTC() }
