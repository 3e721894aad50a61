package export

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"sluice/internal/testkit"
)

// TestKeySorter: whatever is added comes once and in order, in memory or not.
func TestKeySorter(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 1))
	for _, most := range []int{1, 2, 7, 100, 5000} {
		for _, different := range []int{1, 3, 40, 900} {
			s := newKeySorter(most)
			var want []place
			for range 1000 {
				p := place{int64(random.IntN(3)), fmt.Sprint(random.IntN(different))}
				want = append(want, p)
				if err := s.add(p); err != nil {
					t.Fatal(err)
				}
				if len(s.held) > most {
					t.Fatalf("%d are held, want at most %d", len(s.held), most)
				}
			}
			slices.SortFunc(want, comparePlaces)
			want = slices.Compact(want)
			var got []place
			if err := s.each(func(p place) error { got = append(got, p); return nil }); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d at once, of %d: got %v, want %v", most, different, got, want)
			}
			if most == 7 && different == 900 && len(s.ends) < 100 {
				t.Errorf("%d runs in the file: nothing was merged", len(s.ends))
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
		}
	}
}
