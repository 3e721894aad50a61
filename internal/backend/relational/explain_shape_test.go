package relational_test

import "testing"

// TestShape: statements that differ in values alone have one shape.
func TestShape(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT id FROM job WHERE id IN (1, 22,333) AND at < -5":                  "SELECT id FROM job WHERE id IN (…) AND at < #",
		"SELECT id FROM job WHERE id IN (1)":                                      "SELECT id FROM job WHERE id IN (…)",
		"SELECT a1, X'0aff', MAX(hash_2), 7 FROM t2 WHERE k IN (X'00', X'01', ?)": "SELECT a1, H, MAX(hash_2), # FROM t2 WHERE k IN (…)",
		"UPDATE job SET n = CASE id WHEN 1 THEN 2 WHEN 3 THEN ? END WHERE id = ?": "UPDATE job SET n = CASE id WHEN # THEN # END WHERE id = ?",
		"SELECT COUNT(*), COALESCE(SUM(LENGTH(data)), 0) FROM chunk":              "SELECT COUNT(*), COALESCE(SUM(LENGTH(data)), #) FROM chunk",
		"SELECT 1 FROM t WHERE (a, b) > (1, X'ab') ORDER BY a LIMIT 10":           "SELECT # FROM t WHERE (a, b) > (…) ORDER BY a LIMIT #",
	} {
		if got := shape(brief(query)); got != want {
			t.Errorf("%s\nhas the shape %s\nwant          %s", query, got, want)
		}
	}
}
