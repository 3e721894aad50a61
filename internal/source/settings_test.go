package source_test

import (
	"testing"
	"time"

	"sluice/internal/quota"
	"sluice/internal/source"
)

// TestSettings: values are those of the declaration until they are set, and a copy
// with another value leaves the first as it is.
func TestSettings(t *testing.T) {
	set := source.Settings{}
	for _, s := range []source.Setting{
		{Name: "text", Default: "a"}, {Name: "int", Default: 1}, {Name: "int64", Default: int64(2)},
		{Name: "bool", Default: true}, {Name: "duration", Default: time.Second},
	} {
		if set.Field(s) != set.Field(s) {
			t.Errorf("%s is kept in two places", s.Name)
		}
	}
	*set.Field(source.Setting{Name: "text"}).(*string) = "b"
	other := set.With("int", 7)
	const want = "bool=true duration=1s int=1 int64=2 text=b "
	if set.String() != want || other.Int("int") != 7 || other.Text("text") != "b" {
		t.Errorf("got %s and %s", set, other)
	}
	if !set.Bool("bool") || set.Int64("int64") != 2 || set.Duration("duration") != time.Second {
		t.Errorf("got %s", set)
	}
	var none source.Settings
	if none.Text("text") != "" || none.With("text", "x").Text("text") != "x" || set.Int("text") != 0 {
		t.Error("what is not there has a value")
	}
}

// TestQuota puts the rations of several sources together.
func TestQuota(t *testing.T) {
	one := source.Description{Name: "one", Concurrency: 100, Rations: []source.Ration{
		{Bucket: "a", Kept: true, Limits: quota.Limits{Limit: 5000, Window: time.Hour}}, {Bucket: "b", Limits: quota.Limits{Limit: 30}},
	}}
	two := source.Description{Name: "two", Concurrency: 5, Rations: []source.Ration{{Bucket: "c", Limits: quota.Limits{Limit: 9}}}}
	all, err := source.Quota([]source.Description{one, two}, 100)
	if err != nil || all.Concurrency != 5 || len(all.Buckets) != 3 || all.Buckets["a"].Floor != 100 || all.Buckets["b"].Floor != 0 {
		t.Errorf("got %+v, %v", all, err)
	}
	if _, err := source.Quota([]source.Description{one, one}, 0); err == nil {
		t.Error("two sources share a bucket")
	}
}
