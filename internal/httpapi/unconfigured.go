package httpapi

import (
	"context"
	"net/http"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// noRefreshes stands where no snapshots are kept: the routes are there, and say
// what to configure.
type noRefreshes struct{}

func (noRefreshes) error() error {
	return domain.Errorf(domain.CodeNotFound, "this service keeps no snapshots; start it with a key for the API whose records it is to keep, such as SLUICE_MAPLESTORY_KEY")
}

// CheckEntity implements Refreshes.
func (n noRefreshes) CheckEntity(e refresh.Entity) (refresh.Entity, error) { return e, n.error() }

// Get implements Refreshes.
func (n noRefreshes) Get(context.Context, refresh.Entity) (refresh.Answer, error) {
	return refresh.Answer{}, n.error()
}

// History implements Refreshes.
func (n noRefreshes) History(context.Context, refresh.PastQuery) ([]refresh.PastValue, error) {
	return nil, n.error()
}

// Request implements Refreshes.
func (n noRefreshes) Request(context.Context, refresh.Request) ([]refresh.Grant, error) {
	return nil, n.error()
}

// Watch implements Refreshes.
func (noRefreshes) Watch() (<-chan struct{}, func()) { return nil, func() {} }

// Overview implements Refreshes.
func (n noRefreshes) Overview(context.Context) (refresh.Overview, error) {
	return refresh.Overview{}, n.error()
}

// DeadLetter implements Refreshes.
func (n noRefreshes) DeadLetter(context.Context, string) (refresh.DeadLetter, error) {
	return refresh.DeadLetter{}, n.error()
}

// DeadLetterList implements Refreshes.
func (n noRefreshes) DeadLetterList(context.Context, refresh.DeadLetterQuery) ([]refresh.DeadLetter, error) {
	return nil, n.error()
}

// DeadLetterCounts implements Refreshes.
func (n noRefreshes) DeadLetterCounts(context.Context) (map[string]int64, error) {
	return nil, n.error()
}

// Redrive implements Refreshes.
func (n noRefreshes) Redrive(context.Context, ...string) (int, error) { return 0, n.error() }

// RedriveWhy implements Refreshes.
func (n noRefreshes) RedriveWhy(context.Context, string) (int, error) { return 0, n.error() }

// Discard implements Refreshes.
func (n noRefreshes) Discard(context.Context, ...string) (int, error) { return 0, n.error() }

// withoutAPI serves a process that has other roles: it answers what it does not
// serve with where to ask.
func (s *server) withoutAPI(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1") || strings.HasPrefix(r.URL.Path, "/debug/") {
			writeProblem(w, newProblem(domain.CodeNotFound, http.StatusNotFound,
				"this process does not serve the API; ask one that does, or start it with the role api (--roles)"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
