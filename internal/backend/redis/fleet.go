package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/fleet"
)

const (
	// rollTime is how long processes have to answer.
	rollTime = 500 * time.Millisecond
	// rollKept is how long one that does not answer any more is told of.
	rollKept = 24 * time.Hour
	// What is said on the channel begins with one of these.
	rollCall, rollAnswer = "?", "!"
)

// Fleet calls the roll of the processes that share a Redis. A hash has what each last
// said of itself: a process writes there when it begins to listen and whenever
// somebody asks, and nothing in between.
type Fleet struct {
	db   *DB
	key  string
	self func() fleet.Process
	log  *slog.Logger

	mu sync.Mutex
	// calls are the rolls that are being called, by their names.
	calls map[string]chan string
	// silent are those that did not answer the last one: nobody waits for them.
	silent map[string]bool
}

var _ fleet.Roll = (*Fleet)(nil)

// NewFleet returns the roll of all processes; self tells of this one. A nil log is
// slog.Default.
func NewFleet(db *DB, self func() fleet.Process, log *slog.Logger) *Fleet {
	return &Fleet{
		db: db, key: db.Key("fleet"), self: self, log: cmp.Or(log, slog.Default()),
		calls: map[string]chan string{}, silent: map[string]bool{},
	}
}

// Run answers whoever calls the roll until ctx ends. Then the process leaves it.
func (f *Fleet) Run(ctx context.Context) error {
	var answering sync.WaitGroup
	f.db.listen(ctx, listener{
		Channel: f.key, Log: f.log,
		Message: func(_, text string) {
			if call, is := strings.CutPrefix(text, rollCall); is {
				answering.Go(func() { f.answer(ctx, call) })
			} else if answer, is := strings.CutPrefix(text, rollAnswer); is {
				f.hear(answer)
			}
		},
		Missed: func() { f.answer(ctx, "") },
	})
	answering.Wait()
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), announceTime)
	defer cancel()
	return failure(f.db.Client.Do(leaving, f.db.Client.B().Hdel().Key(f.key).Field(f.self().ID).Build()).Error())
}

// answer writes down what this process is, and says so to who called.
func (f *Fleet) answer(ctx context.Context, call string) {
	if ctx.Err() != nil {
		return
	}
	self := f.self()
	text, err := json.Marshal(self)
	if err != nil {
		f.log.Warn("answer a roll call", "error", err)
		return
	}
	limited, cancel := context.WithTimeout(ctx, announceTime)
	defer cancel()
	b := f.db.Client.B()
	err = f.db.Client.Do(limited, b.Hset().Key(f.key).FieldValue().FieldValue(self.ID, string(text)).Build()).Error()
	if err == nil && call != "" {
		err = f.db.Client.Do(limited, b.Publish().Channel(f.key).Message(rollAnswer+call+" "+self.ID).Build()).Error()
	}
	if err != nil {
		// Who asked tells that this process did not answer.
		f.log.Debug("answer a roll call", "error", err)
	}
}

// hear passes an answer on to who called.
func (f *Fleet) hear(text string) {
	call, id, _ := strings.Cut(text, " ")
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case f.calls[call] <- id:
	default:
	}
}

// Processes implements fleet.Roll.
func (f *Fleet) Processes(ctx context.Context) ([]fleet.Process, error) {
	call := rand.Text()
	answers := make(chan string, 1000)
	f.begin(call, answers)
	defer f.end(call)
	known, err := f.read(ctx)
	if err != nil {
		return nil, err
	}
	err = f.db.Client.Do(ctx, f.db.Client.B().Publish().Channel(f.key).Message(rollCall+call).Build()).Error()
	if err != nil {
		return nil, failure(err)
	}
	answered := f.await(ctx, maps.Keys(known), answers)
	if known, err = f.read(ctx); err != nil {
		return nil, err
	}
	return f.told(ctx, known, answered)
}

func (f *Fleet) begin(call string, answers chan string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[call] = answers
}

func (f *Fleet) end(call string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, call)
}

// await waits until all have answered who answered before, or the time is over.
func (f *Fleet) await(ctx context.Context, known func(func(string) bool), answers <-chan string) map[string]bool {
	missing := map[string]bool{}
	f.mu.Lock()
	for id := range known {
		if !f.silent[id] {
			missing[id] = true
		}
	}
	f.mu.Unlock()
	answered := map[string]bool{}
	late := time.NewTimer(rollTime)
	defer late.Stop()
	for len(missing) > 0 {
		select {
		case id := <-answers:
			answered[id] = true
			delete(missing, id)
		case <-late.C:
			return answered
		case <-ctx.Done():
			return answered
		}
	}
	return answered
}

// told is what is known of all, and forgets who has been silent for long.
func (f *Fleet) told(ctx context.Context, known map[string]fleet.Process, answered map[string]bool) ([]fleet.Process, error) {
	self := f.self()
	self.AnsweredAt = self.AnsweredAt.UTC()
	known[self.ID] = self
	silent := map[string]bool{}
	all := make([]fleet.Process, 0, len(known))
	for id, p := range known {
		p.Here = id == self.ID
		p.Answers = answered[id] || p.Here
		if silent[id] = !p.Answers; silent[id] && self.AnsweredAt.Sub(p.AnsweredAt) > rollKept {
			if err := f.db.Client.Do(ctx, f.db.Client.B().Hdel().Key(f.key).Field(id).Build()).Error(); err != nil {
				return nil, failure(err)
			}
			continue
		}
		all = append(all, p)
	}
	f.mu.Lock()
	f.silent = silent
	f.mu.Unlock()
	fleet.Sort(all)
	return all, nil
}

func (f *Fleet) read(ctx context.Context) (map[string]fleet.Process, error) {
	texts, err := f.db.Client.Do(ctx, f.db.Client.B().Hgetall().Key(f.key).Build()).AsStrMap()
	if err != nil {
		return nil, failure(err)
	}
	known := make(map[string]fleet.Process, len(texts))
	for id, text := range texts {
		var p fleet.Process
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return nil, domain.Errorf(domain.CodeCorrupt, "what process %s said of itself cannot be read: %w", id, err)
		}
		known[id] = p
	}
	return known, nil
}
