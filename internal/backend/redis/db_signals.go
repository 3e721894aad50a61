package redis

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/internal/backoff"
)

const (
	// announceGap is the least time between two announcements of one process.
	announceGap = 200 * time.Millisecond
	// announceTime is how long Redis may take to pass one on.
	announceTime = time.Second
)

// Signals tells other processes that something changed, never what: they look
// at the truth. It has no goroutine and no connection while it has nothing to
// say and nobody listens.
type Signals struct {
	db      *DB
	channel string
	log     *slog.Logger
	life    lifetime

	mu sync.Mutex
	// resting is set while an announcement is less than announceGap old, and
	// again if another one is due when that time is over.
	resting, again bool
	listeners      map[chan struct{}]struct{}
	unsubscribe    context.CancelFunc
}

// NewSignals returns the signals of a channel, whose name is a key's. A nil log
// is slog.Default.
func NewSignals(db *DB, channel string, log *slog.Logger) *Signals {
	return &Signals{db: db, channel: channel, log: cmp.Or(log, slog.Default()), listeners: make(map[chan struct{}]struct{})}
}

// Close ends listening, says what is left to say, and waits for both.
func (s *Signals) Close() { s.life.close() }

// Announce tells every process that something changed. It does not wait;
// announcements that follow each other closely become one, and the last of
// them is never left out.
func (s *Signals) Announce(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resting {
		s.again = true
		return
	}
	task, done, ok := s.life.begin(context.WithoutCancel(ctx))
	if !ok {
		return
	}
	s.resting = true
	go func() {
		defer done()
		s.announceUntilQuiet(task)
	}()
}

func (s *Signals) announceUntilQuiet(ctx context.Context) {
	for {
		// What is left to say when the adapter is closed is still said.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), announceTime)
		err := s.db.Client.Do(limited, s.db.Client.B().Publish().Channel(s.channel).Message("").Build()).Error()
		cancel()
		if err != nil {
			// Those who listen look for themselves when they are connected again.
			s.log.Debug("announce a change", "error", err)
		}
		backoff.Sleep(ctx, announceGap)
		if !s.announceAgain() {
			return
		}
	}
}

// announceAgain says whether another announcement is due.
func (s *Signals) announceAgain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.again
	s.again, s.resting = false, again
	return again
}

// Changes returns a channel that has a value after something changed, or may
// have changed while nobody could tell. Several changes may be one value. The
// function ends it. Redis is subscribed to while somebody listens.
func (s *Signals) Changes(ctx context.Context) (<-chan struct{}, func()) {
	signal := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listeners) == 0 {
		s.subscribe(ctx)
	}
	s.listeners[signal] = struct{}{}
	leave := sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, signal)
		if len(s.listeners) == 0 {
			s.unsubscribe()
		}
	})
	stop := context.AfterFunc(ctx, leave)
	return signal, func() {
		stop()
		leave()
	}
}

// subscribe listens until the last listener has left. The caller holds the
// lock.
func (s *Signals) subscribe(ctx context.Context) {
	listening, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.unsubscribe = cancel
	task, done, ok := s.life.begin(listening)
	if !ok {
		return
	}
	go func() {
		defer done()
		s.db.listen(task, listener{Channel: s.channel, Message: func(string, string) { s.tell() }, Missed: s.tell, Log: s.log})
	}()
}

func (s *Signals) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for signal := range s.listeners {
		notify(signal)
	}
}

// notify puts a value into a channel that has room for one.
func notify(signal chan<- struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}
