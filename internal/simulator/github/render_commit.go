package github

import (
	"fmt"
	"strings"
)

// filesPerPage is how many files one page of a commit shows, and maxFiles how
// many GitHub shows at all.
const (
	filesPerPage = 300
	maxFiles     = 3000
)

// commit writes a commit as listings show it: without statistics.
func (w *renderer) commit(c commit) {
	w.open('{')
	w.commitFields(&c)
	w.close('}')
}

func (w *renderer) commitFields(c *commit) {
	full := c.repo.fullName()
	w.key("sha").join(c.sha)
	w.key("node_id").join(c.nodeID())
	w.key("commit").open('{')
	w.key("author")
	w.signature(c.authorName, c.email, c.authored)
	w.key("committer")
	w.signature("GitHub", "noreply@github.example.com", c.committed)
	w.key("message").str(c.message())
	w.key("tree").open('{')
	w.key("sha").join(c.sha[20:], c.sha[:20])
	w.key("url").join(w.base, "/repos/", full, "/git/trees/", c.sha[20:], c.sha[:20])
	w.close('}')
	w.key("url").join(w.base, "/repos/", full, "/git/commits/", c.sha)
	w.key("comment_count").int(0)
	w.key("verification").raw(`{"verified":false,"reason":"unsigned","signature":null,"payload":null,"verified_at":null}`)
	w.close('}')
	w.key("url").join(w.base, "/repos/", full, "/commits/", c.sha)
	w.key("html_url").join(site, full, "/commit/", c.sha)
	w.key("comments_url").join(w.base, "/repos/", full, "/commits/", c.sha, "/comments")
	w.key("author")
	w.user(c.author)
	w.key("committer").null()
	w.key("parents").open('[')
	if below, ok := c.repo.parent(c.serial); ok {
		parent := shaOf(c.repo.key, below)
		w.open('{')
		w.key("sha").join(parent)
		w.key("url").join(w.base, "/repos/", full, "/commits/", parent)
		w.key("html_url").join(site, full, "/commit/", parent)
		w.close('}')
	}
	w.close(']')
}

func (w *renderer) signature(name, email string, at int64) {
	w.open('{')
	w.key("name").str(name)
	w.key("email").str(email)
	w.key("date").time(at)
	w.close('}')
}

// commitDetail writes a commit with its statistics and one page of its files.
func (w *renderer) commitDetail(c commit, page int) {
	w.open('{')
	w.commitFields(&c)
	w.key("stats").open('{')
	w.key("total").int(c.additions + c.deletions)
	w.key("additions").int(c.additions)
	w.key("deletions").int(c.deletions)
	w.close('}')
	w.key("files").open('[')
	last := min(c.files, maxFiles, page*filesPerPage)
	for i := (page - 1) * filesPerPage; i < last; i++ {
		w.file(&c, i)
	}
	w.close(']')
	w.close('}')
}

// share splits a commit's total evenly over its files, so that the files add up
// to the statistics.
func share(total int64, files, i int) int64 {
	n := int64(files)
	part := total / n
	if int64(i) < total%n {
		part++
	}
	return part
}

func (w *renderer) file(c *commit, i int) {
	key := derive(c.key, kindFile, uint64(i))
	name := fmt.Sprintf("%s/file_%x_%d.go", pick(folders, key), key>>48, i)
	added, removed := share(c.additions, c.files, i), share(c.deletions, c.files, i)
	full := c.repo.fullName()
	blob := shaOf(key, i)
	w.open('{')
	w.key("sha").join(blob)
	w.key("filename").join(name)
	w.key("status").join("modified")
	w.key("additions").int(added)
	w.key("deletions").int(removed)
	w.key("changes").int(added + removed)
	w.key("blob_url").join(site, full, "/blob/", c.sha, "/", name)
	w.key("raw_url").join(site, full, "/raw/", c.sha, "/", name)
	w.key("contents_url").join(w.base, "/repos/", full, "/contents/", name, "?ref=", c.sha)
	w.key("patch").str(patch(added, removed, key))
	w.close('}')
}

func patch(added, removed int64, key uint64) string {
	var p strings.Builder
	fmt.Fprintf(&p, "@@ -%d,%d +%d,%d @@\n", key%200, removed, key%200, added)
	d := draws{key}
	for range removed {
		p.WriteString("-\t" + pick(objects, d.next()) + "\n")
	}
	for range added {
		p.WriteString("+\t" + pick(reasons, d.next()) + "\n")
	}
	return p.String()
}
