package relational_test

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// TestListingBeginsWhileOthersSave: who begins to list the history waits for
// those who are storing values, and not for those who come later.
func TestListingBeginsWhileOthersSave(t *testing.T) {
	t.Parallel()
	eachServer(t, testListingBeginsWhileOthersSave)
}

func testListingBeginsWhileOthersSave(t *testing.T, on server) {
	url := on.fresh(t)
	lister := newSnapshots(t, open(t, url))
	ended := make(chan struct{})
	var all sync.WaitGroup
	for process := range 6 {
		s := newSnapshots(t, open(t, url))
		all.Go(func() {
			for version := int64(1); ; version++ {
				select {
				case <-ended:
					return
				default:
				}
				part := make([]refresh.Refreshed, 50)
				for i := range part {
					body := fmt.Appendf(nil, "%d of %d", process, version)
					part[i] = refresh.Refreshed{
						Entity: refresh.Entity{Source: "shop", Key: fmt.Sprint(process, "-", i)}, Version: version, At: start, Body: body, Hash: sha256.Sum256(body),
					}
				}
				if _, err := s.Save(t.Context(), part); err != nil {
					t.Errorf("save: %v", err)
					return
				}
			}
		})
	}
	for range testkit.Effort(10, 40) {
		began := time.Now()
		if _, _, err := lister.Values(t.Context(), start, "", 1); err != nil {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	}
	close(ended)
	all.Wait()
}
