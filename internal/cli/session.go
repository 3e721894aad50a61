package cli

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"time"

	"sluice/internal/backup"
	"sluice/internal/client"
	"sluice/internal/domain"
)

// session is a command's connection to a service.
type session struct {
	*client.Client
	// local is set when the service is inside this process, and calls are what goes
	// on in it.
	local *Service
	// at is the address of a service in another process.
	at    string
	calls *inProcess
	// folder reads what the data folder holds where the service that has it does
	// not answer; nil if there is no such service.
	folder *besides
	// held says that another process holds the data folder that is read.
	held bool
}

// idle says that nothing works on the data: there is no service.
func (s *session) idle() bool { return s.local != nil && !s.held }

// callPatience is how long a service in this process may take to end calls whose
// answers were read: the audit log has their outcome then.
const callPatience = 10 * time.Second

// Close ends the session; a local service stops gracefully until ctx ends.
func (s *session) Close(ctx context.Context) error {
	if s.folder != nil {
		return s.folder.close(ctx)
	}
	if s.local == nil {
		return nil
	}
	ended := make(chan struct{})
	go func() {
		s.calls.under.Wait()
		close(ended)
	}()
	patience := time.NewTimer(callPatience)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
	}
	return s.local.Close(ctx)
}

// unlessFailed does something that waits for the service. If that is inside this
// process and stops by itself, as it cannot trust its store, nothing would come
// any more: the reason is returned instead.
func (s *session) unlessFailed(ctx context.Context, do func(context.Context) error) error {
	if s.local == nil {
		return do(ctx)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-s.local.Failed:
			end()
		case <-ctx.Done():
		}
	}()
	err := do(ctx)
	if cause := s.local.Err(); cause != nil {
		// What followed from it says less.
		return cause
	}
	return err
}

var holderURL = regexp.MustCompile(`at (https?://[^\s,)]+)`)

// purpose is what a command wants a service for.
type purpose int

const (
	// toRead needs data that is there already, and changes nothing: it takes no
	// lock, and is done beside whoever holds the data folder.
	toRead purpose = iota
	// toChange needs data that is there already, and makes no more.
	toChange
	// toAdd needs a folder; data may begin in it.
	toAdd
	// toBegin makes what is missing, also the folder: data begins with it.
	toBegin
	// toWork makes what is missing, and starts the service.
	toWork
)

// connect finds the service to speak to: the one given by --server, the one
// that runs on the data folder, or one of our own.
func (a *App) connect(ctx context.Context, o *options, holder string, why purpose) (*session, error) {
	if o.Server != "" {
		return a.remote(o, o.Server)
	}
	if !o.Servers.Shared() {
		who := a.Holder(o.Service.DataDir)
		switch m := holderURL.FindStringSubmatch(who); {
		case m != nil && why == toRead:
			return a.readBeside(ctx, o, m[1])
		case m != nil:
			return a.remote(o, m[1])
		case why == toRead && who != "":
			s, err := a.open(ctx, o, holder, why)
			if err == nil {
				s.held = true
			}
			return s, err
		}
		if err := a.needData(o.Service.DataDir, why); err != nil && who == "" {
			return nil, err
		}
	}
	return a.open(ctx, o, holder, why)
}

// open is a session with a service in this process.
func (a *App) open(ctx context.Context, o *options, holder string, why purpose) (*session, error) {
	so, err := a.service(o, holder)
	if err != nil {
		return nil, err
	}
	so.Read, so.Look = why == toRead, why == toRead || why == toChange
	svc, err := a.Open(ctx, so)
	if err != nil {
		return nil, err
	}
	if why == toWork {
		if err := svc.Start(ctx); err != nil {
			return nil, errors.Join(err, svc.Close(ctx))
		}
	}
	calls := &inProcess{handler: svc.API, who: localIdentity()}
	c, err := client.New("http://localhost", o.HTTP.Token, &http.Client{Transport: calls})
	if err != nil {
		return nil, errors.Join(err, svc.Close(ctx))
	}
	return &session{Client: c, local: svc, calls: calls}, nil
}

// needData refuses a data folder that has not what a command needs: looking at it
// would make an empty one, and a mistyped name would look like no data.
func (a *App) needData(dir string, why purpose) error {
	if err := backup.NotBeingRestored(dir); err != nil {
		return err
	}
	if _, err := os.Stat(dir); (why == toRead || why == toChange || why == toAdd) && errors.Is(err, fs.ErrNotExist) {
		return domain.Errorf(domain.CodeNotFound,
			"there is no data folder %s: collect something first, or name the folder with --data-dir or a service with --server", dir)
	}
	if (why == toRead || why == toChange) && !a.hasData(dir) {
		return domain.Errorf(domain.CodeNotFound,
			"there is no data in %s yet: `sluice collect LOGIN` collects some, `sluice up` starts a service; or name another folder with --data-dir or a service with --server", dir)
	}
	return nil
}

func (a *App) hasData(dir string) bool { return a.HasData == nil || a.HasData(dir) }

func (a *App) remote(o *options, url string) (*session, error) {
	hc, err := trusting(o)
	if err != nil {
		return nil, err
	}
	c, err := client.New(url, o.HTTP.Token, hc)
	if err != nil {
		return nil, err
	}
	return &session{Client: c, at: url}, nil
}

// with runs fn in a session that reads what is there.
func (a *App) with(ctx context.Context, o *options, fn func(*session) error) error {
	return a.within(ctx, o, toRead, fn)
}

// changing runs fn in a session that changes what is there.
func (a *App) changing(ctx context.Context, o *options, fn func(*session) error) error {
	return a.within(ctx, o, toChange, fn)
}

// within runs fn in a session that does not work on jobs.
func (a *App) within(ctx context.Context, o *options, why purpose, fn func(*session) error) error {
	s, err := a.connect(ctx, o, "sluice", why)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close(context.WithoutCancel(ctx)))
}
