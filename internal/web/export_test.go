package web

import (
	"maps"
	"slices"
)

// ActionNames are what forms can ask for.
func ActionNames() []string { return slices.Sorted(maps.Keys(actions)) }
