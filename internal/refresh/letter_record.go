package refresh

import (
	"encoding/json"
	"fmt"
	"time"

	"sluice/internal/domain"
)

// letterRecord is a dead letter as it is stored. What could not be read has no
// priority, which has no name either: it is kept as a number.
type letterRecord struct {
	DeadLetter
	Priority uint8 `json:"priority"`
}

// maxLetterID bounds the ids of dead letters.
const maxLetterID = 255

// EncodeLetter writes a dead letter for a store. Its instants become as exact as
// those of everything else.
func EncodeLetter(l DeadLetter) ([]byte, error) {
	if l.ID == "" || len(l.ID) > maxLetterID {
		return nil, domain.Errorf(domain.CodeInvalid, "a dead letter needs an id of up to %d bytes", maxLetterID)
	}
	for _, at := range []*time.Time{&l.RequestedAt, &l.FirstAt, &l.FailedAt} {
		if !at.IsZero() {
			*at = time.UnixMicro(at.UnixMicro()).UTC()
		}
	}
	data, err := json.Marshal(letterRecord{DeadLetter: l, Priority: uint8(l.Priority)})
	if err != nil {
		return nil, fmt.Errorf("encode dead letter: %w", err)
	}
	return data, nil
}

// DecodeLetter reads what EncodeLetter wrote.
func DecodeLetter(data []byte) (DeadLetter, error) {
	var r letterRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return DeadLetter{}, domain.Errorf(domain.CodeCorrupt, "a stored dead letter cannot be read: %w", err)
	}
	r.DeadLetter.Priority = domain.Priority(r.Priority)
	return r.DeadLetter, nil
}
