package memory

import "sluice/internal/dispatch"

// key stands for an id: a job's is its number, every other's is negative. So the
// ids of a million jobs take no memory beside their records.
type key int64

// keys knows the ids that are not those of jobs.
type keys struct {
	byID map[string]key
	// ids are those of the keys -1, -2 and so on.
	ids  []string
	free []key
}

func newKeys() keys { return keys{byID: make(map[string]key)} }

// of returns the key of an id; known is false if there certainly is no entry.
func (all *keys) of(id string) (k key, known bool) {
	if k, isJob := jobKey(id); isJob {
		return k, true
	}
	k, known = all.byID[id]
	return k, known
}

// add returns a key for an id that has no entry.
func (all *keys) add(id string) key {
	if k, isJob := jobKey(id); isJob {
		return k
	}
	var k key
	if n := len(all.free); n > 0 {
		k = all.free[n-1]
		all.free = all.free[:n-1]
		all.ids[-k-1] = id
	} else {
		all.ids = append(all.ids, id)
		k = -key(len(all.ids))
	}
	all.byID[id] = k
	return k
}

// id is the inverse of of.
func (all *keys) id(k key) string {
	if k >= 0 {
		return dispatch.JobID(int64(k))
	}
	return all.ids[-k-1]
}

// drop forgets the key of an entry that is gone.
func (all *keys) drop(k key) {
	if k >= 0 {
		return
	}
	delete(all.byID, all.ids[-k-1])
	all.ids[-k-1] = ""
	all.free = append(all.free, k)
}

// jobKey is the number of a job that is called as dispatch.JobID does, and not
// in another way that means the same.
func jobKey(id string) (key, bool) {
	const prefix, mostDigits = "job:", 18
	if len(id) <= len(prefix) || len(id) > len(prefix)+mostDigits || id[:len(prefix)] != prefix {
		return 0, false
	}
	digits := id[len(prefix):]
	if digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	k := key(0)
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		k = 10*k + key(d)
	}
	return k, true
}
