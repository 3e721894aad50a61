package cli

import (
	"context"
	"net/http"
	"sync"
	"time"

	"sluice/internal/domain"
)

// renewable is a service that is opened again, in the same process and at the same
// address, when its sources have changed. Requests that come meanwhile wait, and those
// that are under way end before: none of them sees anything of it but time.
type renewable struct {
	app *App
	so  ServiceOptions
	url string

	mu sync.Mutex
	// svc is nil while there is none.
	svc *Service
	// under are the requests under way.
	under int
	// idle is set while somebody waits for their end, and closed then; open is set
	// while the service is being opened again, and closed then.
	idle, opened chan struct{}
}

const (
	// streamsEnd is how long requests may take to end before those are cut short that
	// may take long, such as exports.
	streamsEnd = 20 * time.Second
	// heldTime is what a request has for itself that waited.
	heldTime = 30 * time.Second
	// folderPatience is how long a command may have the data folder that came in
	// between.
	folderPatience = time.Minute
)

// open opens the service, as long as servers that others restart do not answer.
func (r *renewable) open(ctx context.Context) error {
	return r.app.patiently(ctx, r.so, func() error {
		svc, err := r.app.Open(ctx, r.so)
		if err == nil {
			r.mu.Lock()
			r.svc = svc
			r.mu.Unlock()
		}
		return err
	})
}

// start says where the service is, and lets it work.
func (r *renewable) start(ctx context.Context) error {
	if err := r.svc.Announce(r.url); err != nil {
		return err
	}
	return r.app.patiently(ctx, r.so, func() error { return r.svc.Start(ctx) })
}

// close ends the service, if there is one.
func (r *renewable) close(ctx context.Context) error {
	r.mu.Lock()
	svc := r.svc
	r.svc = nil
	r.mu.Unlock()
	if svc == nil {
		return nil
	}
	return svc.Close(ctx)
}

func (r *renewable) stopping() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.svc != nil {
		r.svc.Stopping()
	}
}

// keep opens the service again whenever its sources have changed, until ctx ends or it
// stops by itself, which is the error.
func (r *renewable) keep(ctx context.Context) error {
	for {
		svc := r.svc
		changed := svc.Changed
		if !r.so.Renews {
			changed = nil
		}
		select {
		case <-ctx.Done():
			return svc.Err()
		case <-svc.Failed:
			return svc.Err()
		case <-changed:
			if err := r.renew(ctx); err != nil {
				return unlessStopped(ctx, err)
			}
		}
	}
}

// renew opens the service again.
func (r *renewable) renew(ctx context.Context) error {
	r.so.Log.Info("the sources have changed: the service takes them up")
	began := time.Now()
	r.quiet(ctx)
	// Calls under way end, and are stored.
	if err := r.close(context.WithoutCancel(ctx)); err != nil {
		r.so.Log.Warn("not everything ended well before the sources were taken up", "error", err)
	}
	if err := r.reopen(ctx); err != nil {
		return err
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.opened)
	r.opened = nil
	r.so.Log.Info("the service goes on with the sources as they are", "took", time.Since(began))
	return nil
}

// quiet keeps requests from beginning, and waits for the end of those under way.
func (r *renewable) quiet(ctx context.Context) {
	r.mu.Lock()
	r.hold()
	idle := make(chan struct{})
	if r.idle = idle; r.under == 0 {
		close(idle)
		r.idle = nil
	}
	svc := r.svc
	r.mu.Unlock()
	svc.EndStreams()
	patience := time.NewTimer(streamsEnd)
	defer patience.Stop()
	select {
	case <-idle:
		return
	case <-patience.C:
	case <-ctx.Done():
	}
	svc.Stopping()
	patience.Reset(heldTime)
	select {
	case <-idle:
	case <-patience.C:
	}
}

// hold lets requests wait from now on. The caller holds the lock.
func (r *renewable) hold() {
	if r.opened == nil {
		r.opened = make(chan struct{})
	}
}

// reopen opens the service, and waits for a command that came in between and has the
// data folder.
func (r *renewable) reopen(ctx context.Context) error {
	for until := time.Now().Add(folderPatience); ; {
		err := r.open(ctx)
		if domain.CodeOf(err) != domain.CodeConflict || time.Now().After(until) || !r.app.sleep(ctx, serverPatience/10) {
			return err
		}
	}
}

// ServeHTTP implements http.Handler.
func (r *renewable) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	svc, waited := r.enter(req.Context())
	if svc == nil {
		http.Error(w, "the service is stopping", http.StatusServiceUnavailable)
		return
	}
	defer r.leave()
	if waited {
		// What it waited is not its own. Where there are no deadlines there is nothing to
		// move.
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(heldTime))
		_ = control.SetWriteDeadline(time.Now().Add(2 * heldTime))
	}
	svc.API.ServeHTTP(w, req)
}

// enter waits until the service is open, and counts a request; nil says that there is
// none any more.
func (r *renewable) enter(ctx context.Context) (svc *Service, waited bool) {
	for {
		r.mu.Lock()
		if r.svc != nil && r.so.Renews {
			select {
			case <-r.svc.Changed:
				// Whoever was told of the change is to see it.
				r.hold()
			default:
			}
		}
		opened := r.opened
		if opened == nil {
			defer r.mu.Unlock()
			if r.svc != nil {
				r.under++
			}
			return r.svc, waited
		}
		r.mu.Unlock()
		waited = true
		select {
		case <-opened:
		case <-ctx.Done():
			return nil, true
		}
	}
}

// leave is the end of a request.
func (r *renewable) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.under--; r.under == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}
