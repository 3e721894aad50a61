package testkit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Seed is what a randomised test begins with: a number of chance, which is
// printed, or the one that SLUICE_TEST_SEED gives, to repeat what failed.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if given := os.Getenv("SLUICE_TEST_SEED"); given != "" {
		n, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			t.Fatalf("SLUICE_TEST_SEED=%q is not a number: %v", given, err)
		}
		seed = n
	}
	t.Logf("SLUICE_TEST_SEED=%d", seed)
	return seed
}
