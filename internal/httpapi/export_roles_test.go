package httpapi

import (
	"maps"

	"sluice/internal/access"
)

// Listed says whether a route is in the table of roles.
func Listed(route string) bool {
	_, listed := needed[route]
	return listed
}

// Table is the table of roles.
func Table() map[string]access.Role { return maps.Clone(needed) }
