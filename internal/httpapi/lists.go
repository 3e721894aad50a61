package httpapi

import (
	"context"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

// ListReader reads the state page by page; every state.Store is one.
type ListReader interface {
	ListAccounts(ctx context.Context, q state.AccountList) (state.Page[domain.Account], error)
	ListRuns(ctx context.Context, q state.RunList) (state.Page[domain.Run], error)
	ListJobs(ctx context.Context, q state.JobList) (state.Page[domain.Job], error)
	AccountsOf(ctx context.Context, owners []string, most int) ([]domain.Account, error)
	WithoutStatistics(ctx context.Context, most int) ([]domain.Run, error)
}

// badCursor refuses what no answer has ended with.
func badCursor() error {
	return domain.Errorf(domain.CodeInvalid, "cursor is not one of this list; take next_cursor of an earlier answer as it is")
}

// position is where a page begins: at its cursor, or as earlier versions said it.
func position(cursor string, before int64) (int64, error) {
	if cursor == "" {
		return before, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 1 {
		return 0, badCursor()
	}
	return n, nil
}

// cursorAt names a position; 0 is the end of a list.
func cursorAt(position int64) string {
	if position == 0 {
		return ""
	}
	return strconv.FormatInt(position, 10)
}

// listOf shows a page.
func listOf[T, W any](page state.Page[T], show func(T) W) wire.List[W] {
	list := wire.List[W]{Items: make([]W, len(page.Items)), NextCursor: cursorAt(page.Next)}
	for i, item := range page.Items {
		list.Items[i] = show(item)
	}
	return list
}

func same[T any](item T) T { return item }

// instantCursor names a place in a list that is sorted by instants, then ids.
func instantCursor(at time.Time, id string) string {
	return strconv.FormatInt(at.UnixMicro(), 10) + ":" + id
}

func parseInstantCursor(cursor string) (at time.Time, id string, err error) {
	micros, id, ok := strings.Cut(cursor, ":")
	n, err := strconv.ParseInt(micros, 10, 64)
	if !ok || err != nil || n < 0 || n > latestMicros {
		return at, "", badCursor()
	}
	return time.UnixMicro(n), id, nil
}

// cut takes one page from a list that is there as a whole, beginning behind the item
// that the cursor names.
func cut[T any](all []T, cursor string, limit int, name func(*T) string) (wire.List[T], error) {
	from := 0
	if cursor != "" {
		for from < len(all) && name(&all[from]) != cursor {
			from++
		}
		if from == len(all) {
			return wire.List[T]{}, badCursor()
		}
		from++
	}
	return pageOf(all[from:], limit, name), nil
}

// pageOf is the first page of what was read: if that is more than the page has, the
// list goes on behind the page's last item, which the cursor names.
func pageOf[T any](read []T, limit int, name func(*T) string) wire.List[T] {
	list := wire.List[T]{Items: notNull(read)}
	if len(read) > limit {
		list.Items = read[:limit]
		list.NextCursor = name(&read[limit-1])
	}
	return list
}

// statuses reads names of states.
func statuses[S any, P interface {
	*S
	UnmarshalText(text []byte) error
}](names []string) ([]S, error) {
	out := make([]S, len(names))
	for i, name := range names {
		if err := P(&out[i]).UnmarshalText([]byte(name)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
