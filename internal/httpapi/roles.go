package httpapi

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/access"
)

// everybody is the role of routes that need no token.
const everybody access.Role = "everybody"

// needed is the role that each route needs: here, and nowhere else. What is not
// listed needs an admin. Webhooks of sources are signed, and need none.
var needed = map[string]access.Role{
	"GET /{$}":              everybody,
	"GET /livez":            everybody,
	"GET /readyz":           everybody,
	"GET /api/openapi.json": everybody,

	"GET " + OlderDocumentPath:       everybody,
	"GET " + DocsPath:                everybody,
	"GET " + ProblemsPath:            everybody,
	"GET " + DocsPath + "/style.css": everybody,

	"GET /metrics":                                 access.Read,
	"GET /debug/redis/stats":                       access.Read,
	"GET /api/v1":                                  access.Read,
	"GET /api/v1/{$}":                              access.Read,
	"GET /api/v1/accounts":                         access.Read,
	"GET /api/v1/accounts/{id}":                    access.Read,
	"GET /api/v1/accounts/{id}/cursors":            access.Read,
	"GET /api/v1/accounts/{id}/schedule":           access.Read,
	"GET /api/v1/accounts/{id}/statistics":         access.Read,
	"GET /api/v1/archive":                          access.Read,
	"GET /api/v1/archive/values":                   access.Read,
	"GET /api/v1/backends":                         access.Read,
	"GET /api/v1/changes":                          access.Read,
	"GET /api/v1/completions":                      access.Read,
	"GET /api/v1/completions/events":               access.Read,
	"GET /api/v1/dlq":                              access.Read,
	"GET /api/v1/dlq/{id}":                         access.Read,
	"GET /api/v1/documents/{kind}":                 access.Read,
	"GET /api/v1/documents/{kind}/{id}":            access.Read,
	"GET /api/v1/events":                           access.Read,
	"GET /api/v1/export":                           access.Read,
	"GET /api/v1/jobs":                             access.Read,
	"GET /api/v1/jobs/{id}":                        access.Read,
	"GET /api/v1/monitoring/completion-stats":      access.Read,
	"GET /api/v1/notifications":                    access.Read,
	"GET /api/v1/processes":                        access.Read,
	"GET /api/v1/queries":                          access.Read,
	"GET /api/v1/queries/{name}":                   access.Read,
	"GET /api/v1/quota":                            access.Read,
	"GET /api/v1/refresh":                          access.Read,
	"GET /api/v1/runs":                             access.Read,
	"GET /api/v1/runs/{id}":                        access.Read,
	"GET /api/v1/runs/{id}/events":                 access.Read,
	"GET /api/v1/search":                           access.Read,
	"GET /api/v1/sinks":                            access.Read,
	"GET /api/v1/sinks/{name}/letters":             access.Read,
	"GET /api/v1/sources":                          access.Read,
	"GET /api/v1/sources/{name}":                   access.Read,
	"GET /api/v1/snapshots/{source}/{key}":         access.Read,
	"GET /api/v1/snapshots/{source}/{key}/events":  access.Read,
	"GET /api/v1/snapshots/{source}/{key}/history": access.Read,
	"GET /api/v1/stats/accounts/{id}":              access.Read,
	"GET /api/v1/stats/global":                     access.Read,
	"GET /api/v1/stats/leaderboard":                access.Read,
	"GET /api/v1/timers":                           access.Read,
	"GET /api/v1/timers/{id}":                      access.Read,
	"GET /api/v1/whoami":                           access.Read,
	"POST /api/v1/sources/check":                   access.Read,
	"POST /api/v1/sql":                             access.Read,
	"DELETE /api/v1/queries/{name}":                access.Operate,
	"DELETE /api/v1/timers/{id}":                   access.Operate,
	"POST /api/v1/accounts/{id}/pause":             access.Operate,
	"POST /api/v1/accounts/{id}/resume":            access.Operate,
	"POST /api/v1/archive/restore":                 access.Operate,
	"POST /api/v1/archive/run":                     access.Operate,
	"POST /api/v1/archive/verify":                  access.Operate,
	"POST /api/v1/notifications/test":              access.Operate,
	"POST /api/v1/notifications/{id}/retry":        access.Operate,
	"POST /api/v1/dlq/discard":                     access.Operate,
	"POST /api/v1/dlq/redrive":                     access.Operate,
	"POST /api/v1/sinks/{name}/letters/discard":    access.Operate,
	"POST /api/v1/sinks/{name}/letters/redrive":    access.Operate,
	"POST /api/v1/dry-runs":                        access.Operate,
	"POST /api/v1/jobs/cancel":                     access.Operate,
	"POST /api/v1/jobs/retry":                      access.Operate,
	"POST /api/v1/jobs/{id}/retry":                 access.Operate,
	"POST /api/v1/monitoring/detect-missed-timers": access.Operate,
	"POST /api/v1/quota/{owner}/reset":             access.Operate,
	"POST /api/v1/refresh":                         access.Operate,
	"POST /api/v1/runs":                            access.Operate,
	"POST /api/v1/runs/cancel":                     access.Operate,
	"POST /api/v1/runs/{id}/cancel":                access.Operate,
	"POST /api/v1/runs/{id}/priority":              access.Operate,
	"POST /api/v1/runs/{id}/resume":                access.Operate,
	"POST /api/v1/sources/{name}/probe":            access.Operate,
	"POST /api/v1/timers":                          access.Operate,
	"POST /api/v1/timers/{id}/redeliver":           access.Operate,
	"POST /api/v1/timers/{id}/reschedule":          access.Operate,
	"PUT /api/v1/accounts/{id}/schedule":           access.Operate,
	"PUT /api/v1/queries/{name}":                   access.Operate,

	// Credentials, and who may do what.
	"DELETE /api/v1/accounts/{id}":     access.Admin,
	"POST /api/v1/accounts/{id}/purge": access.Admin,
	"PATCH /api/v1/accounts/{id}":      access.Admin,
	"POST /api/v1/accounts":            access.Admin,
	"DELETE /api/v1/tokens/{name}":     access.Admin,
	"GET /api/v1/audit":                access.Admin,
	"GET /api/v1/tokens":               access.Admin,
	"POST /api/v1/tokens":              access.Admin,
	// These let the service connect to what the caller names.
	"POST /api/v1/sinks/sync":       access.Admin,
	"POST /api/v1/sources":          access.Admin,
	"DELETE /api/v1/sources/{name}": access.Admin,
}

// noRoute is the pattern of whatever no route is for.
const noRoute = "/"

// roleOf is what a request needs: the role of its route. Where there is none, the
// answer says so to whoever may look at all.
func (s *server) roleOf(r *http.Request, pattern string) access.Role {
	switch role, listed := needed[pattern]; {
	case listed:
		return role
	case s.takesHooksAt(r.URL.Path):
		return everybody
	case pattern != noRoute && pattern != "" && !s.shadowed[pattern]:
		return access.Admin
	case s.protected(r.URL.Path):
		return access.Read
	}
	return everybody
}

// roleExtension tells the role that an operation needs in the API's description.
const roleExtension = "x-role"

// describeRoles tells of every operation which role it needs, and returns their
// ids by the patterns of their routes.
func (s *server) describeRoles(doc *huma.OpenAPI) map[string]string {
	ids := map[string]string{}
	for path, item := range doc.Paths {
		for method, op := range operationsOf(item) {
			pattern := method + " " + path
			ids[pattern] = op.OperationID
			role, listed := needed[pattern]
			switch {
			case listed:
			case s.takesHooksAt(path):
				role = everybody
			default:
				role = access.Admin
			}
			if op.Extensions == nil {
				op.Extensions = map[string]any{}
			}
			op.Extensions[roleExtension] = role
			if role == everybody {
				// It needs no token, whatever the others need.
				op.Security = []map[string][]string{}
			}
		}
	}
	return ids
}

// operationsOf are the operations of a path, by method.
func operationsOf(item *huma.PathItem) map[string]*huma.Operation {
	operations := map[string]*huma.Operation{}
	for method, op := range map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	} {
		if op != nil {
			operations[method] = op
		}
	}
	return operations
}
