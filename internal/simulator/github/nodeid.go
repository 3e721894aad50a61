package github

import (
	"strconv"
	"strings"
)

// Node ids name things across the whole API. They carry what they name, so the
// node query needs no table.

func b36(n int64) string { return strconv.FormatInt(n, 36) }

func userNodeID(id int64) string { return "U_kgDO" + b36(id) }
func repoNodeID(id int64) string { return "R_kgDO" + b36(id) }

func (c *commit) nodeID() string { return "C_kwDO" + b36(c.repo.id) + "_" + c.sha }
func (it *item) nodeID() string  { return "I_kwDO" + b36(it.repo.id) + "_" + b36(int64(it.number)) }
func (it *item) pullNodeID() string {
	return "PR_kwDO" + b36(it.repo.id) + "_" + b36(int64(it.number))
}

// ownNodeID is the id under which GraphQL knows the item.
func (it *item) ownNodeID() string {
	if it.pull {
		return it.pullNodeID()
	}
	return it.nodeID()
}

// splitNodeID takes an id apart into its kind, its number and what follows.
func splitNodeID(id string) (kind string, number int64, rest string, ok bool) {
	kind, tail, found := strings.Cut(id, "_k")
	if !found || len(tail) < 4 || tail[1:3] != "DO" {
		return "", 0, "", false
	}
	digits, rest, _ := strings.Cut(tail[3:], "_")
	number, err := strconv.ParseInt(digits, 36, 64)
	return kind, number, rest, err == nil
}
