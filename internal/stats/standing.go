package stats

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// Standing is where an account stands among all accounts that have statistics
// and are not deleted, of sources whose documents are counted.
type Standing struct {
	By    Measure `json:"by"`
	Value float64 `json:"value"`
	// Rank is one more than the number of accounts that have more, so that
	// equals share a rank and the ranks after them are skipped.
	Rank int64 `json:"rank"`
	// Of is how many accounts were compared.
	Of int64 `json:"of"`
	// Percentile is the share of accounts that have no more than this one, in
	// percent; 100 is the top.
	Percentile float64 `json:"percentile"`
}

// Row is one line of a leaderboard.
type Row struct {
	AccountID int64  `json:"account_id"`
	Source    string `json:"source"`
	Login     string `json:"login"`
	Standing
}

// Totals are sums over all accounts. They add up what each account did itself
// or owns, so a commit that several accounts collected is counted once.
type Totals struct {
	Accounts     int64 `json:"accounts"`
	Repositories int64 `json:"repositories"`
	Stars        int64 `json:"stars_received"`
	Activities   int64 `json:"activities"`
	Commits      int64 `json:"commits"`
	Additions    int64 `json:"additions"`
	Deletions    int64 `json:"deletions"`
	IssuesOpened int64 `json:"issues_opened"`
	IssuesSolved int64 `json:"issues_solved"`
	PullsOpened  int64 `json:"pulls_opened"`
	PullsMerged  int64 `json:"pulls_merged"`
	// MergedToOthers is the part of PullsMerged in repositories of others.
	MergedToOthers int64 `json:"pulls_merged_to_others"`
	// Languages is ordered by activities, the busiest first, then by name.
	Languages []Language `json:"languages"`
}

// Leaderboard ranks all accounts by a measure, the best first, equals by name.
func (c *Computer) Leaderboard(ctx context.Context, by Measure) ([]Row, error) {
	if _, err := ParseMeasure(string(by)); err != nil {
		return nil, err
	}
	var rows []Row
	err := c.compared(ctx, func(a domain.Account, h *headline) {
		rows = append(rows, Row{
			AccountID: a.ID, Source: a.Source, Login: a.Login,
			Standing: Standing{By: by, Value: by.value(h)},
		})
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value),
			cmp.Compare(strings.ToLower(a.Login), strings.ToLower(b.Login)), cmp.Compare(a.AccountID, b.AccountID))
	})
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && rows[to].Value == rows[from].Value {
			to++
		}
		for i := from; i < to; i++ {
			rows[i].place(from, len(rows)-from, len(rows))
		}
		from = to
	}
	return rows, nil
}

// place fills in the position of one that has `better` accounts above it and
// `atMost` accounts, itself among them, that have no more, out of `of`.
func (s *Standing) place(better, atMost, of int) {
	s.Rank, s.Of = int64(better)+1, int64(of)
	s.Percentile = hundredths(100 * float64(atMost) / float64(of))
}

// Read returns the stored statistics of an account with its standings; ok is
// false if there are none yet. A deleted account has statistics but does not
// compete.
func (c *Computer) Read(ctx context.Context, account int64) (a Account, ok bool, err error) {
	data, ok, err := c.stored.AccountStatistics(ctx, account)
	if err != nil || !ok {
		return Account{}, false, err
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return Account{}, false, unreadable(account, err)
	}
	mine := headlineOf(&a)
	measures := Measures()
	of, competes := 0, false
	better, atMost := make([]int, len(measures)), make([]int, len(measures))
	err = c.compared(ctx, func(other domain.Account, h *headline) {
		if other.ID == account {
			// The row may be newer than what was read above; it stands for itself.
			competes, h = true, mine
		}
		of++
		for i, m := range measures {
			if m.value(h) > m.value(mine) {
				better[i]++
			} else {
				atMost[i]++
			}
		}
	})
	if err != nil || !competes {
		return a, err == nil, err
	}
	for i, m := range measures {
		s := Standing{By: m, Value: m.value(mine)}
		s.place(better[i], atMost[i], of)
		a.Standings = append(a.Standings, s)
	}
	return a, true, nil
}

// Global sums up all accounts that are not deleted.
func (c *Computer) Global(ctx context.Context) (Totals, error) {
	var t Totals
	languages := map[string]*Language{}
	err := c.each(ctx, func(_ domain.Account, h *headline) {
		t.add(h)
		for _, l := range h.languages {
			sum := languages[l.Name]
			if sum == nil {
				sum = &Language{Name: l.Name}
				languages[l.Name] = sum
			}
			sum.add(l)
		}
	})
	if err != nil {
		return Totals{}, err
	}
	t.Languages = inOrder(languages)
	return t, nil
}

func (t *Totals) add(h *headline) {
	t.Accounts++
	t.Repositories += h.repositories.Owned
	t.Stars += h.repositories.Stars
	t.Activities += h.activities
	t.Commits += h.commits.Own
	t.Additions += h.commits.Additions
	t.Deletions += h.commits.Deletions
	t.IssuesOpened += h.issues.Opened
	t.IssuesSolved += h.issues.Solved
	t.PullsOpened += h.pulls.Opened
	t.PullsMerged += h.pulls.Merged
	t.MergedToOthers += h.pulls.MergedToOthers
}

func (l *Language) add(other Language) {
	l.Repositories += other.Repositories
	l.Activities += other.Activities
	l.Commits += other.Commits
	l.Additions += other.Additions
	l.Deletions += other.Deletions
}

// each calls fn with every account that competes.
// compared goes over the accounts that are compared: those of sources whose documents
// are counted. Of others every figure is zero, which says nothing of them.
func (c *Computer) compared(ctx context.Context, fn func(domain.Account, *headline)) error {
	counts := map[string]bool{}
	return c.each(ctx, func(a domain.Account, h *headline) {
		counted, known := counts[a.Source]
		if !known {
			counted = Counted(c.kinds, a.Source)
			counts[a.Source] = counted
		}
		if counted {
			fn(a, h)
		}
	})
}

// Counted says whether a source has documents that statistics count.
func Counted(kinds document.Kinds, source string) bool {
	return slices.ContainsFunc(kinds.OfSource(source), func(d document.Declaration) bool { return d.CountedAs != "" })
}

func (c *Computer) each(ctx context.Context, fn func(domain.Account, *headline)) error {
	err := c.stored.AllStatistics(ctx, func(a domain.Account, data []byte) error {
		if a.State.Gone() {
			return nil
		}
		h, err := readHeadline(data)
		if err != nil {
			return unreadable(a.ID, err)
		}
		fn(a, h)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the statistics of all accounts: %w", err)
	}
	return nil
}

func unreadable(account int64, err error) error {
	return domain.Errorf(domain.CodeCorrupt,
		"the stored statistics of account %d cannot be read; collect it again to renew them: %w", account, err)
}
