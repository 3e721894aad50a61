package idempotency

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/state"
)

const (
	// pruneEvery is how often what has expired is removed, at most: only those who
	// store something do so.
	pruneEvery = time.Hour
	// pruneMost is how much at a time.
	pruneMost = 1000
	// releaseTime bounds how long a key may take to be given back that may have been
	// taken.
	releaseTime = 2 * time.Second
)

// Vault seals answers: some of them are for one pair of eyes.
type Vault interface {
	Seal(plain, owner string) (state.Sealed, error)
	Open(s state.Sealed, owner string) (string, error)
}

// Answer is what a request was answered with.
type Answer struct {
	Status int                 `json:"status"`
	Header map[string][]string `json:"header,omitempty"`
	Body   []byte              `json:"body,omitempty"`
}

// Keeper keeps the answers to requests that have a key. It is safe for concurrent
// use.
type Keeper struct {
	store Store
	vault Vault
	now   func() time.Time

	mu     sync.Mutex
	pruned time.Time
}

// NewKeeper returns a keeper; now may be nil.
func NewKeeper(store Store, vault Vault, now func() time.Time) *Keeper {
	if now == nil {
		now = time.Now
	}
	return &Keeper{store: store, vault: vault, now: now}
}

// Turn is the right to carry a request out. It ends with Finish or Abandon.
type Turn struct {
	keeper *Keeper
	record Record
}

// Take returns the turn to carry a request out, or the answer that it had. It
// fails with code invalid if the key was used for something else, and with code
// conflict while the request is being carried out.
func (k *Keeper) Take(ctx context.Context, caller, key string, of Fingerprint) (*Turn, *Answer, error) {
	now := k.now()
	record := Record{
		ID: IDOf(caller, key), Fingerprint: of, Holder: newHolder(),
		Until: now.Add(Patience), Expires: now.Add(Lifetime),
	}
	standing, claimed, err := k.store.Claim(ctx, record, now)
	if err != nil {
		// It may have the key all the same, and whoever asked is told to ask again.
		// If that fails, too, the key is free when its holder is taken to be gone.
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		_ = k.store.Release(release, record.ID, record.Holder)
		return nil, nil, err
	}
	if claimed {
		k.prune(ctx, now)
		return &Turn{k, record}, nil, nil
	}
	if err := standing.refusal(of); err != nil {
		return nil, nil, err
	}
	answer, err := k.open(standing)
	return nil, answer, err
}

// newHolder is a number that nobody else has.
func newHolder() int64 {
	var random [8]byte
	// It never fails.
	_, _ = rand.Read(random[:])
	return int64(binary.BigEndian.Uint64(random[:]) >> 1)
}

// prune removes what has expired, now and then. If it fails, whoever comes in an
// hour does it: nobody's request is refused for it.
func (k *Keeper) prune(ctx context.Context, now time.Time) {
	k.mu.Lock()
	due := now.Sub(k.pruned) >= pruneEvery
	if due {
		k.pruned = now
	}
	k.mu.Unlock()
	if due {
		_, _ = k.store.Prune(ctx, now, pruneMost)
	}
}

func (k *Keeper) open(r Record) (*Answer, error) {
	text, err := k.vault.Open(r.Answer, owner(r.ID))
	var answer Answer
	if err == nil {
		err = json.Unmarshal([]byte(text), &answer)
	}
	if err != nil {
		return nil, domain.Errorf(domain.CodeConflict, "the request with this Idempotency-Key was carried out, but its answer cannot be opened any more: look at how things stand")
	}
	return &answer, nil
}

// owner is what an answer is sealed for.
func owner(id ID) string { return "answer " + hex.EncodeToString(id[:]) }

// Finish keeps the answer, for whoever sends the request again.
func (t *Turn) Finish(ctx context.Context, a Answer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	sealed, err := t.keeper.vault.Seal(string(text), owner(t.record.ID))
	if err != nil {
		return err
	}
	return insist(ctx, func() error {
		_, err := t.keeper.store.Finish(ctx, t.record.ID, t.record.Holder, sealed, t.keeper.now().Add(Lifetime))
		return err
	})
}

// Abandon lets the request be sent again: nothing came of it.
func (t *Turn) Abandon(ctx context.Context) error {
	return insist(ctx, func() error { return t.keeper.store.Release(ctx, t.record.ID, t.record.Holder) })
}

// insisting is how soon a store that was not available is asked again.
var insisting = backoff.Delays{First: 50 * time.Millisecond, Longest: time.Second, Spread: backoff.Upper}

// insist tries again while the store is not available and ctx has not ended: a
// request whose answer is not kept would be carried out again. To do either twice
// changes nothing.
func insist(ctx context.Context, do func() error) error {
	delays := insisting.Series()
	for {
		err := do()
		if domain.CodeOf(err) != domain.CodeUnavailable || !backoff.Sleep(ctx, delays.Next()) {
			return err
		}
	}
}
