package redis_test

import (
	"reflect"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

// filledOutcome is an outcome with something in every field there is, and something
// else in each, so that no field can be forgotten or taken for another.
func filledOutcome(t *testing.T) state.Outcome {
	t.Helper()
	var o state.Outcome
	f := filler{T: t}
	f.fill(reflect.ValueOf(&o).Elem(), "Outcome")
	return o
}

type filler struct {
	*testing.T
	n int64
}

func (f *filler) fill(v reflect.Value, path string) {
	f.Helper()
	f.n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 3, 1, 12, 0, 0, int(123456789+f.n), time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				f.Fatalf("%s.%s is not exported and would be lost", path, v.Type().Field(i).Name)
			}
			f.fill(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(v.Index(i), path)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, path)
		f.fill(value, path)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(path + string(rune('a'+f.n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1<<40 + f.n)
	case reflect.Uint8:
		v.SetUint(uint64(1 + f.n%3))
	case reflect.Uint64:
		v.SetUint(1<<60 + uint64(f.n))
	default:
		f.Fatalf("%s is of kind %s, which this test does not fill yet", path, v.Kind())
	}
}

func TestResults(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			db := connectOwn(t, url(t))
			results := redis.NewResults(db, redis.ResultsOptions{})
			t.Run("every field comes back", func(t *testing.T) { everyField(t, results) })
			t.Run("each job has its own", func(t *testing.T) { eachItsOwn(t, results) })
			t.Run("the newest counts", func(t *testing.T) { newestCounts(t, results) })
			t.Run("a life of an hour", func(t *testing.T) { lifeOfAnHour(t, db, results) })
			t.Run("what is too large is refused", func(t *testing.T) { tooLarge(t, results) })
			t.Run("what cannot be read is an error", func(t *testing.T) { unreadable(t, db, results) })
		})
	}
}

func takeResult(t *testing.T, r *redis.Results, job int64) (state.Outcome, bool) {
	t.Helper()
	o, kept, err := r.Take(t.Context(), job)
	if err != nil {
		t.Fatalf("Take(%d): %v", job, err)
	}
	return o, kept
}

func keepResult(t *testing.T, r *redis.Results, o state.Outcome) {
	t.Helper()
	if err := r.Keep(t.Context(), o); err != nil {
		t.Fatalf("Keep(%d): %v", o.Job, err)
	}
}

func everyField(t *testing.T, r *redis.Results) {
	want := filledOutcome(t)
	keepResult(t, r, want)
	for range 2 { // reading does not remove
		if got, kept := takeResult(t, r, want.Job); !kept || !reflect.DeepEqual(got, want) {
			t.Fatalf("kept %v\ngot  %+v\nwant %+v", kept, got, want)
		}
	}
	empty := state.Outcome{Job: 5}
	keepResult(t, r, empty)
	if got, _ := takeResult(t, r, 5); !reflect.DeepEqual(got, empty) {
		t.Fatalf("got %+v, want an outcome with nothing but its job", got)
	}
}

func eachItsOwn(t *testing.T, r *redis.Results) {
	for job := range int64(50) {
		keepResult(t, r, state.Outcome{Job: 100 + job, Attempt: job})
	}
	if err := r.Drop(t.Context(), 100, 110, 120, 9999); err != nil {
		t.Fatal(err)
	}
	if err := r.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for job := range int64(50) {
		o, kept := takeResult(t, r, 100+job)
		if dropped := job == 0 || job == 10 || job == 20; kept == dropped || kept && o.Attempt != job {
			t.Errorf("job %d: kept %v, %+v", 100+job, kept, o)
		}
	}
}

func newestCounts(t *testing.T, r *redis.Results) {
	keepResult(t, r, state.Outcome{Job: 7, Attempt: 1, Owner: "first"})
	keepResult(t, r, state.Outcome{Job: 7, Attempt: 2})
	if o, _ := takeResult(t, r, 7); o.Attempt != 2 || o.Owner != "" {
		t.Fatalf("got %+v, want the second", o)
	}
}

func lifeOfAnHour(t *testing.T, db *redis.DB, r *redis.Results) {
	keepResult(t, r, state.Outcome{Job: 8})
	c := db.Client
	left, err := c.Do(t.Context(), c.B().Pttl().Key(db.OwnKey("8", "result")).Build()).AsInt64()
	if d := time.Duration(left) * time.Millisecond; err != nil || d > time.Hour || d < 59*time.Minute {
		t.Fatalf("it lives for %v, %v, want an hour", d, err)
	}
}

func tooLarge(t *testing.T, r *redis.Results) {
	o := state.Outcome{Job: 9, Documents: []document.Document{{Raw: make([]byte, 64<<20)}}}
	if err := r.Keep(t.Context(), o); domain.CodeOf(err) != domain.CodeInvalid {
		t.Fatalf("Keep: %v, want code invalid", err)
	}
	if _, kept := takeResult(t, r, 9); kept {
		t.Fatal("it was kept all the same")
	}
	o.Documents[0].Raw = make([]byte, 60<<20)
	keepResult(t, r, o)
	if got, _ := takeResult(t, r, 9); len(got.Documents) != 1 || len(got.Documents[0].Raw) != 60<<20 {
		t.Fatal("a result just below the bound did not come back")
	}
}

func unreadable(t *testing.T, db *redis.DB, r *redis.Results) {
	c := db.Client
	for _, text := range []string{"", "something else", "\x01something else"} {
		if err := c.Do(t.Context(), c.B().Set().Key(db.OwnKey("10", "result")).Value(text).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if _, kept, err := r.Take(t.Context(), 10); kept || domain.CodeOf(err) != domain.CodeCorrupt {
			t.Fatalf("Take of %q: kept %v, %v, want code corrupt", text, kept, err)
		}
	}
}

func TestResultsWithoutRedis(t *testing.T) {
	server := testkit.StartRedis(t)
	r := redis.NewResults(connectOwn(t, server.URL()), redis.ResultsOptions{Life: time.Minute})
	server.Kill()
	if err := r.Keep(t.Context(), state.Outcome{Job: 1}); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("Keep: %v", err)
	}
	if _, _, err := r.Take(t.Context(), 1); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("Take: %v", err)
	}
	if err := r.Drop(t.Context(), 1, 2); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("Drop: %v", err)
	}
}
