package hook

import (
	"crypto/sha256"
	"encoding/json"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/sink"
)

// Batch is the body of a webhook.
type Batch struct {
	// ID is also in the header webhook-id.
	ID   string `json:"id"`
	Sink string `json:"sink"`
	// Feed, Generation and Position say what it is part of: of two batches with the
	// same row, the one of the later generation, and then of the higher position, has
	// the newer.
	Feed       string `json:"feed"`
	Generation int64  `json:"generation"`
	Position   int64  `json:"position"`
	// Backfill says that it is part of a copy of everything, which ends with one that
	// is not; Sweep that rows of earlier generations alone are to be removed.
	Backfill bool `json:"backfill"`
	Sweep    bool `json:"sweep"`
	// Purged are accounts of which nothing is to stay, before the rows are stored.
	Purged []int64 `json:"purged"`
	Rows   []Row   `json:"rows"`
}

// Row is one row of a batch, or the key of one that is to go.
type Row struct {
	Table   string `json:"table"`
	Account int64  `json:"account"`
	Name    string `json:"name"`
	// Deleted says that the upstream shows it no longer; Removed that it is to go.
	Deleted bool `json:"deleted"`
	Removed bool `json:"removed"`
	// Row has the columns by their names; it is left out if the row is to go.
	Row json.RawMessage `json:"row,omitempty"`
}

// body writes a batch, and its id: the same part of a feed with the same rows has the
// same one, whoever sends it, so that a receiver can leave out what it has.
func (h *Hook) body(b *sink.Batch) (id string, body []byte, err error) {
	out := Batch{Sink: h.options.Name, Feed: b.Feed, Generation: b.Generation, Position: b.Position,
		Backfill: !b.Backfilled || b.Sweep, Sweep: b.Sweep, Purged: append([]int64{}, b.Purged...), Rows: []Row{}}
	for i := range b.Rows {
		r := &b.Rows[i]
		if r.Table < 0 || r.Table >= len(h.tables) {
			return "", nil, domain.Errorf(domain.CodeInternal, "a row is of table %d, and %d are prepared", r.Table, len(h.tables))
		}
		t := &h.tables[r.Table]
		row := Row{Table: t.name, Account: r.Key.Account, Name: r.Key.Name, Deleted: r.Deleted, Removed: r.Removed}
		if !r.Removed {
			if row.Row, err = t.rows.Append(nil, r.Values, r.Raw); err != nil {
				return "", nil, err
			}
		}
		out.Rows = append(out.Rows, row)
	}
	if body, err = encode(&out); err != nil {
		return "", nil, err
	}
	const empty = `{"id":"`
	id = "sink_" + digest(h.held.Receiver, h.held.Progress, b.Progress, sha256.Sum256(body))
	return id, slices.Concat([]byte(empty+id), body[len(empty):]), nil
}

func encode(b *Batch) ([]byte, error) {
	body, err := json.Marshal(b)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInternal, "write a batch as JSON: %w", err)
	}
	return body, nil
}
