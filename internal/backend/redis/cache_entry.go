package redis

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"sluice/internal/refresh"
)

// What Redis has of an entity is one of two things, told by its first byte:
//
//   - kept: a value that was read from the store, as the length of what is known
//     about it, that in JSON, and the body as it is, so that reading it costs
//     nothing however large it is;
//   - changed: nothing is kept, because something was stored; whoever reads the
//     store must find a check at least as late before he keeps it.
const (
	entryKept    = '+'
	entryChanged = '-'
)

// entryHeadSize is the first byte and the length.
const entryHeadSize = 1 + 4

func encodeEntry(value refresh.Cached) ([]byte, error) {
	body := value.Body
	value.Body = nil
	about, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	text := make([]byte, 0, entryHeadSize+len(about)+len(body))
	text = append(text, entryKept)
	text = binary.LittleEndian.AppendUint32(text, uint32(len(about)))
	text = append(text, about...)
	return append(text, body...), nil
}

// decodeEntry reports false for whatever is not kept. The body is part of the text:
// nobody may write to it.
func decodeEntry(text []byte) (value refresh.Cached, ok bool) {
	if len(text) < entryHeadSize || text[0] != entryKept {
		return value, false
	}
	rest, size := text[entryHeadSize:], binary.LittleEndian.Uint32(text[1:])
	if uint64(size) > uint64(len(rest)) || json.Unmarshal(rest[:size], &value) != nil {
		return refresh.Cached{}, false
	}
	if body := rest[size:]; len(body) > 0 {
		value.Body = body
	}
	return value, true
}

// changedMark is what stands for an entity that has changed. If it is not known when
// the upstream was asked for what is there now, nothing is kept for a while.
func changedMark(checked time.Time) string {
	at := int64(math.MaxInt32) * 1_000_000
	if !checked.IsZero() {
		at = checked.UnixMicro()
	}
	return string(entryChanged) + strconv.FormatInt(at, 10)
}
