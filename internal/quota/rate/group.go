package rate

import "strings"

// groupPrefix begins the names of groups of rations that are drawn on for rates.
const groupPrefix = "rate\x1f"

// Group names the group of rations of an upstream.
func Group(upstream string) string { return groupPrefix + upstream }

// IsGroup says whether a group of rations is that of an upstream: its calls are nobody's
// in particular, and it is shown where snapshots are.
func IsGroup(name string) bool { return strings.HasPrefix(name, groupPrefix) }
