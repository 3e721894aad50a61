package redis_test

import (
	"os"
	"reflect"
	"testing"
	"time"

	"sluice/internal/domain"
	pendingredis "sluice/internal/pending/redis"
	"sluice/internal/redisdb"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

func open(t *testing.T, url string, o pendingredis.Options) *pendingredis.Results {
	t.Helper()
	db, err := redisdb.Open(t.Context(), redisdb.Options{URL: url, Prefix: testkit.Prefix(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	r, err := pendingredis.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fill sets every field, also those that are added one day.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), depth+i)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 3, 1+depth, 12, 0, 0, 123456000, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), depth+i+1)
		}
	case reflect.String:
		v.SetString("text " + string(rune('a'+depth%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(depth + 1))
	case reflect.Uint8:
		v.SetUint(uint64(depth%3 + 1))
	case reflect.Uint64:
		v.SetUint(uint64(depth + 1))
	default:
		panic("fill does not know " + v.Type().String())
	}
}

func filled() state.Outcome {
	var o state.Outcome
	fill(reflect.ValueOf(&o).Elem(), 0)
	return o
}

func TestResultComesBackWhole(t *testing.T) {
	for name, url := range map[string]string{"single": testkit.Redis(t), "cluster": testkit.RedisCluster(t)} {
		t.Run(name, func(t *testing.T) {
			r := open(t, url, pendingredis.Options{})
			o := filled()
			for job := int64(1); job <= 5; job++ {
				o.Job = job
				if err := r.Keep(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // taking does not remove
				got, ok, err := r.Take(t.Context(), 5)
				if err != nil || !ok || !reflect.DeepEqual(got, o) {
					t.Fatalf("took %+v, %v, %v\nwant %+v", got, ok, err, o)
				}
			}
			if err := r.Drop(t.Context(), 1, 2, 5, 99); err != nil {
				t.Fatal(err)
			}
			for job, want := range map[int64]bool{1: false, 3: true, 5: false, 99: false} {
				if _, ok, err := r.Take(t.Context(), job); err != nil || ok != want {
					t.Errorf("job %d: kept %v, %v", job, ok, err)
				}
			}
		})
	}
}

func TestEmptyResultComesBack(t *testing.T) {
	r := open(t, testkit.Redis(t), pendingredis.Options{})
	want := state.Outcome{Job: 7, Attempt: 3, To: domain.JobSucceeded}
	if err := r.Keep(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := r.Take(t.Context(), 7); err != nil || !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("took %+v, %v, %v", got, ok, err)
	}
}

func TestResultExpires(t *testing.T) {
	r := open(t, testkit.Redis(t), pendingredis.Options{Life: 50 * time.Millisecond})
	if err := r.Keep(t.Context(), state.Outcome{Job: 1}); err != nil {
		t.Fatal(err)
	}
	for {
		_, ok, err := r.Take(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestUnavailableWhileRedisIsDown(t *testing.T) {
	server := testkit.StartRedis(t)
	r := open(t, server.URL(), pendingredis.Options{})
	server.Kill()
	if err := r.Keep(t.Context(), state.Outcome{Job: 1}); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("keep: %v", err)
	}
	if _, _, err := r.Take(t.Context(), 1); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("take: %v", err)
	}
}
