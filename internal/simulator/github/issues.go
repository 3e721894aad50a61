package github

import (
	"slices"
	"strings"
)

// item is an issue or a pull request; both share their repository's numbers.
type item struct {
	repo    *repo
	number  int
	pull    bool
	key     uint64
	role    authorRole
	edits   int
	draft   bool
	created int64
	updated int64
	closed  int64 // zero while open
	merged  int64 // zero unless a merged pull request
}

// itemVersion is what an item became at an instant; its updated_at is that
// instant.
type itemVersion struct {
	at, closed, merged int64
}

// openedItem is an issue or pull request opened after the base world ended.
type openedItem struct {
	pull    bool
	created int64
	role    authorRole
}

func (it *item) open() bool      { return it.closed == 0 }
func (it *item) id() int64       { return it.repo.id*2_000_000 + int64(it.number) }
func (it *item) pullID() int64   { return it.id() + 1_000_000 }
func (it *item) comments() int64 { return int64(it.key>>7%6) + int64(it.edits) }

func (it *item) title() string {
	d := draws{it.key ^ golden}
	title := pick(verbs, d.next()) + " " + pick(objects, d.next()) + " " + pick(reasons, d.next())
	if it.edits > 0 {
		title += strings.Repeat(" (edited)", min(it.edits, 3))
	}
	return title
}

func (it *item) body() string {
	d := draws{mix(it.key)}
	line := pick(verbs, d.next()) + " " + pick(objects, d.next()) + " " + pick(reasons, d.next()) + ".\r\n"
	return strings.Repeat(line, int(1+d.below(8)))
}

// changes gives a pull request's commits, additions, deletions and files.
func (it *item) changes() (commits, additions, deletions, files int64) {
	d := draws{it.key ^ 0x77}
	return 1 + d.below(9), d.below(60) * d.below(12), d.below(40) * d.below(6), 1 + d.below(15)
}

func (r *repo) baseItems() int { return r.baseIssues + r.basePulls }
func (r *repo) lastNumber() int {
	return r.baseItems() + len(r.overlay.opened)
}

// isPull spreads the pull requests evenly over the repository's numbers.
func (r *repo) isPull(number int) bool {
	total := r.baseItems()
	if number > total {
		return r.overlay.opened[number-total-1].pull
	}
	return number*r.basePulls/total > (number-1)*r.basePulls/total
}

func (r *repo) removedItem(number int) bool { return r.overlay.removed[number].because(GoneDeleted) }

// findItem looks a number up; removed ones are not found.
func (r *repo) findItem(number int) (item, bool) {
	if number < 1 || number > r.lastNumber() || r.removedItem(number) {
		return item{}, false
	}
	return r.item(number), true
}

func (r *repo) item(number int) item {
	it, _ := r.itemAt(number, latest)
	return it
}

// itemAt is the item as it stood at an instant; false when it was not there.
func (r *repo) itemAt(number int, at int64) (item, bool) {
	it := r.original(number)
	if it.created > at {
		return it, false
	}
	if _, removed := r.overlay.removed[number].at(at); removed {
		return it, false
	}
	if at < worldEnd {
		it.rewind(at)
	}
	for _, v := range r.overlay.edits[number] {
		if v.at <= at {
			it.updated, it.closed, it.merged = v.at, v.closed, v.merged
			it.edits++
		}
	}
	return it, true
}

// rewind takes back what the base world did to an item after an instant.
func (it *item) rewind(at int64) {
	if it.updated <= at {
		return
	}
	it.updated = it.created
	if it.closed > at {
		it.closed, it.merged = 0, 0
	}
	it.updated = max(it.updated, it.closed)
}

// original is the item before any overlay edit.
func (r *repo) original(number int) item {
	key := derive(r.key, kindItem, uint64(number))
	it := item{repo: r, number: number, key: key, pull: r.isPull(number)}
	d := draws{key}
	it.draft = it.pull && d.oneIn(10)
	if number > r.baseItems() {
		o := r.overlay.opened[number-r.baseItems()-1]
		it.role, it.created, it.updated = o.role, o.created, o.created
		return it
	}
	it.role = drawRole(&d)
	it.created = r.baseItemTime(number)
	room := worldEnd - 1 - it.created
	it.updated = it.created + min(d.below(90*86400)*d.below(4)/3, room)
	if d.below(10) < 6 {
		it.closed = it.created + (it.updated-it.created)*(1+d.below(3))/3
		if it.pull && d.below(10) < 7 {
			it.merged = it.closed
		}
	}
	return it
}

func drawRole(d *draws) authorRole {
	switch roll := d.below(20); {
	case roll < 9:
		return byOwner
	case roll < 14:
		return byHelper
	case roll < 19:
		return byStranger
	default:
		return byNobody
	}
}

// baseItemTime is strictly increasing in the number, as baseCommitTime is.
func (r *repo) baseItemTime(number int) int64 {
	span := worldEnd - 86400 - r.created
	n := int64(r.baseItems())
	step := span / n
	jitter := int64(0)
	if step > 1 {
		jitter = int64(derive(r.key, kindItem, uint64(number)^1<<50) >> 1 % uint64(step))
	}
	return r.created + 1 + int64(number-1)*span/n + jitter
}

type itemSort int

const (
	sortCreated itemSort = iota
	sortUpdated
	sortComments
)

// itemQuery selects and orders items.
type itemQuery struct {
	issues, pulls        bool
	open, closed, merged bool // merged ones are closed as well in REST's eyes
	since                int64
	sort                 itemSort
	descending           bool
}

// itemRef names an item within an ordering.
type itemRef struct {
	key    int64
	number int
}

// itemList is an ordered listing; whole means every number of the repository
// in order of creation, which needs no list at all.
type itemList struct {
	whole      int
	descending bool
	refs       []itemRef
	byNumber   bool
}

func (l *itemList) len() int {
	if l.refs == nil {
		return l.whole
	}
	return len(l.refs)
}

func (l *itemList) at(i int) itemRef {
	switch {
	case l.refs != nil:
		return l.refs[i]
	case l.descending:
		return itemRef{number: l.whole - i}
	default:
		return itemRef{number: i + 1}
	}
}

// after is where the listing resumes behind a reference, whether or not the
// referenced item is still in it.
func (l *itemList) after(ref itemRef) int {
	if l.refs == nil {
		if l.descending {
			return min(max(l.whole-ref.number+1, 0), l.whole)
		}
		return min(max(ref.number, 0), l.whole)
	}
	i, found := slices.BinarySearchFunc(l.refs, ref, l.compare)
	if found {
		i++
	}
	return i
}

// compare orders by key, then number; items sorted by creation have no key,
// because numbers are given out in that order.
func (l *itemList) compare(a, b itemRef) int {
	c := 0
	if !l.byNumber {
		c = cmp64(a.key, b.key)
	}
	if c == 0 {
		c = a.number - b.number
	}
	if l.descending {
		return -c
	}
	return c
}

func cmp64(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (q *itemQuery) everyState() bool { return q.open && q.closed && q.merged }

func (r *repo) items(q itemQuery) itemList {
	list := itemList{descending: q.descending, byNumber: q.sort == sortCreated}
	n := r.lastNumber()
	anyState := q.everyState() && q.since == 0
	if q.issues && q.pulls && anyState && list.byNumber && len(r.overlay.removed) == 0 {
		list.whole = n
		return list
	}
	list.refs = make([]itemRef, 0, 16)
	for number := 1; number <= n; number++ {
		if pull := r.isPull(number); pull && !q.pulls || !pull && !q.issues || r.removedItem(number) {
			continue
		}
		ref := itemRef{number: number}
		if !anyState || !list.byNumber {
			it := r.item(number)
			if !q.matches(&it) {
				continue
			}
			ref.key = q.sortKey(&it)
		}
		list.refs = append(list.refs, ref)
	}
	if !list.byNumber {
		slices.SortFunc(list.refs, list.compare)
	} else if q.descending {
		slices.Reverse(list.refs)
	}
	return list
}

func (q *itemQuery) matches(it *item) bool {
	if it.updated < q.since {
		return false
	}
	switch {
	case it.open():
		return q.open
	case it.merged != 0:
		return q.merged
	default:
		return q.closed
	}
}

func (q *itemQuery) sortKey(it *item) int64 {
	switch q.sort {
	case sortUpdated:
		return it.updated
	case sortComments:
		return it.comments()
	default:
		return 0
	}
}

// itemCount counts without building a listing where it can.
func (r *repo) itemCount(pulls bool) int {
	n := r.baseIssues
	if pulls {
		n = r.basePulls
	}
	for _, o := range r.overlay.opened {
		if o.pull == pulls {
			n++
		}
	}
	for number := range r.overlay.removed {
		if r.removedItem(number) && r.isPull(number) == pulls {
			n--
		}
	}
	return n
}
