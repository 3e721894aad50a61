package rationtest

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
)

// RunStore runs what every keeper.Store promises against one that is empty.
func RunStore(t *testing.T, open func(t *testing.T) keeper.Store) {
	for name, run := range map[string]func(*storeSuite){
		"a group that was never saved is empty": (*storeSuite).unknown,
		"all that was saved comes back":         (*storeSuite).roundTrip,
		"the highest number stays":              (*storeSuite).highestStays,
		"groups are apart":                      (*storeSuite).apart,
		"many processes at once":                (*storeSuite).concurrently,
	} {
		t.Run(name, func(t *testing.T) { run(&storeSuite{t, open(t)}) })
	}
}

type storeSuite struct {
	*testing.T
	store keeper.Store
}

func (s *storeSuite) save(all ...keeper.Stored) {
	s.Helper()
	if err := s.store.Save(s.Context(), all); err != nil {
		s.Fatal(err)
	}
}

func (s *storeSuite) want(group string, want ...keeper.Stored) {
	s.Helper()
	got, err := s.store.Load(s.Context(), group)
	if err != nil {
		s.Fatal(err)
	}
	slices.SortFunc(got, func(a, b keeper.Stored) int { return strings.Compare(a.Count, b.Count) })
	same := slices.EqualFunc(got, want, func(a, b keeper.Stored) bool {
		times := a.Until.Equal(b.Until) && a.End.Equal(b.End) && a.End.IsZero() == b.End.IsZero()
		a.Until, a.End, b.Until, b.End = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		return times && a == b
	})
	if !same {
		s.Fatalf("of %q %+v is stored, want %+v", group, got, want)
	}
}

func (s *storeSuite) unknown() {
	s.want("nobody")
	if groups, err := s.store.Groups(s.Context()); err != nil || len(groups) != 0 {
		s.Fatalf("there are %q, %v", groups, err)
	}
}

// roundTrip: names may have what names of owners have, and amounts are large.
func (s *storeSuite) roundTrip() {
	group := "lab\x1fAlice/ü " + strings.Repeat("x", 300)
	window := keeper.Stored{
		Group: group, Count: "day/alice", Limit: 1 << 50, Refill: 12, Spent: 1<<50 - 1, Late: 7, Low: 1<<50 - 3, Until: Morning.Add(25 * time.Hour), End: Morning.Add(24 * time.Hour), Seq: 1 << 52,
	}
	gate := keeper.Stored{Group: group, Count: keeper.GatePrefix + "owner alice", Until: Morning, Seq: 3}
	s.save(window, gate)
	s.want(group, window, gate)
}

func (s *storeSuite) highestStays() {
	row := func(spent int64, seq uint64) keeper.Stored {
		return keeper.Stored{Group: Group, Count: "hour", Spent: spent, Until: Morning.Add(time.Duration(spent) * time.Second), Seq: seq}
	}
	s.save(row(10, 5))
	s.save(row(9, 4))
	s.want(Group, row(10, 5))
	s.save(row(3, 6))
	s.want(Group, row(3, 6))
	s.save(row(4, 8), row(5, 7))
	s.want(Group, row(4, 8))
	s.save(row(6, 8))
	s.want(Group, row(6, 8))
}

func (s *storeSuite) apart() {
	one := keeper.Stored{Group: "lab\x1falice", Count: "hour", Spent: 1, Until: Morning, Seq: 1}
	other := keeper.Stored{Group: "lab\x1fAlice", Count: "hour", Spent: 2, Until: Morning, Seq: 1}
	more := keeper.Stored{Group: "lab\x1falice", Count: "Hour", Spent: 3, Until: Morning, Seq: 1}
	s.save(one, other, more)
	s.want(one.Group, more, one)
	s.want(other.Group, other)
	groups, err := s.store.Groups(s.Context())
	slices.Sort(groups)
	if want := []string{other.Group, one.Group}; err != nil || !slices.Equal(groups, want) {
		s.Fatalf("there are %q, %v, want %q", groups, err, want)
	}
}

// concurrently: processes that store the same counts in another order do not wait
// for each other for ever.
func (s *storeSuite) concurrently() {
	const counts = 8
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			for round := range 5 {
				var rows []keeper.Stored
				for n := range counts {
					seq := uint64(round*10 + i + 1)
					rows = append(rows, keeper.Stored{Group: Group, Count: fmt.Sprintf("c%d", (n+i)%counts), Spent: int64(seq), Until: Morning, Seq: seq})
				}
				if err := s.store.Save(s.Context(), rows); err != nil {
					s.Error(err)
				}
			}
		})
	}
	all.Wait()
	var want []keeper.Stored
	for n := range counts {
		want = append(want, keeper.Stored{Group: Group, Count: fmt.Sprintf("c%d", n), Spent: 50, Until: Morning, Seq: 50})
	}
	s.want(Group, want...)
}

// Windows are where rows of rations stood before they had a table of their own.
type Windows interface {
	QuotaWindows(ctx context.Context, owner string) ([]domain.QuotaWindow, error)
	PutQuotaWindow(ctx context.Context, w domain.QuotaWindow) error
}

// RunMoved runs the migrations of a folder that brought rows of rations where they are
// once more: on rows as they stood among the windows of buckets, which stay, and on the
// counts of days that rates had. What was taken goes on to count.
func RunMoved(t *testing.T, folder string, exec func(statement string) error, windows Windows, store keeper.Store) {
	end := Morning.Add(time.Hour)
	for _, w := range []domain.QuotaWindow{
		{Owner: "ration lab\x1falice", Bucket: "hour", Limit: 9, Points: 5, InFlight: 2, Reset: end, Touched: end.Add(time.Hour), Seq: 77},
		{Owner: "ration lab\x1falice", Bucket: "gate owner alice", Touched: end, Seq: 78},
		{Owner: "rations", Bucket: "core", Limit: 5000, Remaining: 4000, Reset: end, Seq: 3},
	} {
		if err := windows.PutQuotaWindow(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	statements := append([]string{"DROP VIEW v_job", "DROP TABLE ration_count"}, upward(t, folder+"/00250_rations.sql")...)
	statements = append(statements,
		"CREATE TABLE rate_day (upstream VARCHAR(100) NOT NULL, day VARCHAR(10) NOT NULL, calls BIGINT NOT NULL, low BIGINT NOT NULL, PRIMARY KEY (upstream, day))",
		"INSERT INTO rate_day (upstream, day, calls, low) VALUES ('maple', '2026-03-01', 123456, 99), ('maple', '2026-02-28', 7, 0)")
	statements = append(statements, upward(t, folder+"/00280_rates.sql")...)
	waits := upward(t, folder+"/00300_waits.sql")
	statements = append(statements, waits[len(waits)-1])
	for _, statement := range statements {
		if err := exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	s := &storeSuite{t, store}
	hour := keeper.Stored{Group: "lab\x1falice", Count: "hour", Limit: 9, Spent: 5, Late: 2, End: end, Until: end.Add(time.Hour), Seq: 77}
	gate := keeper.Stored{Group: "lab\x1falice", Count: "gate owner alice", Until: end, Seq: 78}
	s.want(hour.Group, gate, hour)
	hour.Spent, hour.Seq = 6, 79
	s.save(hour)
	s.want(hour.Group, gate, hour)
	day := keeper.Stored{Group: "rate\x1fmaple", Count: "day/2026-03-01", Spent: 123456, Low: 99, Until: time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC), Seq: 1}
	before := keeper.Stored{Group: day.Group, Count: "day/2026-02-28", Spent: 7, Until: time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC), Seq: 1}
	s.want(day.Group, before, day)
	day.Spent, day.Seq = 123457, 2
	s.save(day)
	s.want(day.Group, before, day)
	left, err := windows.QuotaWindows(t.Context(), "")
	if err != nil || len(left) != 1 || left[0].Owner != "rations" {
		t.Fatalf("of the windows %+v are left, %v", left, err)
	}
}

// upward are the statements of a migration that lead to the next version.
func upward(t *testing.T, file string) (statements []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	up, _, _ := strings.Cut(string(text), "-- +goose Down")
	up = regexp.MustCompile(`(?m)^ *--.*\n`).ReplaceAllString(up, "")
	for statement := range strings.SplitSeq(up, ";\n") {
		if strings.TrimSpace(statement) != "" {
			statements = append(statements, statement)
		}
	}
	return statements
}
