package archive

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// TestDaily: once a day at the hour, and sooner after a failure.
func TestDaily(t *testing.T) {
	a, err := New(newMemory(), inMemory(t), Options{Hour: 3})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		midnight := time.Now().UTC()
		ctx, cancel := context.WithCancel(t.Context())
		var at []time.Duration
		a.daily(ctx, func(_ context.Context, now time.Time) error {
			at = append(at, now.Sub(midnight))
			switch len(at) {
			case 2, 3:
				return errCrash
			case 5:
				cancel()
			}
			return nil
		})
		expected := []time.Duration{3 * time.Hour, 27 * time.Hour, 28 * time.Hour, 29 * time.Hour, 51 * time.Hour}
		if !slices.Equal(at, expected) {
			t.Errorf("it worked after %v instead of %v", at, expected)
		}
	})
}

// TestOnce: whole days move that are old enough.
func TestOnce(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		values := []refresh.Value{value("s", "a", 1, start, "1"), value("s", "a", 2, start.Add(day-time.Microsecond), "2"), value("s", "a", 3, start.Add(day), "3")}
		w := newWorld(t, open(t), Options{}, values...)
		for _, step := range []struct {
			after              time.Duration
			left, files, colds int
		}{
			{31*day - time.Second, 3, 0, 0},
			{31 * day, 1, 1, 0},
			{32*day - time.Second, 1, 1, 0},
			{32 * day, 0, 2, 0},
			{181*day - time.Second, 0, 2, 0},
			{181 * day, 0, 2, 1},
			{182 * day, 0, 2, 2},
		} {
			_, err := w.Once(t.Context(), start.Add(step.after))
			w.ok(err)
			files, err := w.List(t.Context(), Query{})
			w.ok(err)
			colds := 0
			for _, f := range files {
				if f.Cold {
					colds++
				}
			}
			if len(w.history.rows) != step.left || len(files) != step.files || colds != step.colds {
				t.Errorf("after %s %d values are in the store, and of %d files %d are cold; want %+v", step.after, len(w.history.rows), len(files), colds, step)
			}
		}
		w.archivedOnce(values)
	})
}

// TestRunEnds with its context.
func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	newWorld(t, inMemory(t), Options{}).Run(ctx)
}

func TestUntilHour(t *testing.T) {
	for _, c := range []struct {
		now  string
		hour int
		want time.Duration
	}{
		{"2026-10-16T02:59:59Z", 3, time.Second},
		{"2026-10-16T03:00:00Z", 3, 24 * time.Hour},
		{"2026-10-16T01:30:00+09:00", 0, 7*time.Hour + 30*time.Minute},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := untilHour(now, c.hour); got != c.want {
			t.Errorf("from %s until %d it is %s instead of %s", c.now, c.hour, got, c.want)
		}
	}
}

// TestOneArchivesAtATime: while another process writes, this one does not.
func TestOneArchivesAtATime(t *testing.T) {
	values := []refresh.Value{value("s", "a", 1, start, "1")}
	others, released := true, 0
	w := newWorld(t, inMemory(t), Options{Alone: func(context.Context) (func(), error) {
		if others {
			return nil, domain.Errorf(domain.CodeConflict, "another archives")
		}
		return func() { released++ }, nil
	}}, values...)
	_, err := w.Once(t.Context(), far)
	wantCode(t, err, domain.CodeConflict)
	if len(w.history.rows) != 1 {
		t.Errorf("%d values are left of 1", len(w.history.rows))
	}
	others = false
	_, err = w.Once(t.Context(), far)
	w.ok(err)
	w.archivedOnce(values)
	if released != 2 { // once for archiving, once for cooling
		t.Errorf("it was released %d times", released)
	}
}
