package mongo

import (
	"errors"
	"strings"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
)

// persist repeats a write whose connection turned out to be dead: the server may
// have been started anew since it was last used. The driver does so by itself,
// but only for some servers.
func persist(write func() error) error {
	err := write()
	if driver.IsNetworkError(err) && !driver.IsTimeout(err) {
		return write()
	}
	return err
}

// callRecords is how many records one call to the server carries at most, so
// that no call is long.
const callRecords = 1000

// callSize is how many of n records one call carries, of a size each, if it is
// to carry so many bytes at most.
func callSize(n, bytes int, size func(i int) int) int {
	sum := 0
	for i := range min(n, callRecords) {
		if sum += size(i); sum > bytes && i > 0 {
			return i
		}
	}
	return min(n, callRecords)
}

// codeDuplicate is the server's for a record whose id is there.
const codeDuplicate = 11000

// duplicates returns the items that an insert found to be there already, if
// that is all that went wrong.
func duplicates[T any](items []T, err error) ([]T, error) {
	var failed driver.BulkWriteException
	if !errors.As(err, &failed) || failed.WriteConcernError != nil {
		return nil, err
	}
	present := make([]T, 0, len(failed.WriteErrors))
	for _, e := range failed.WriteErrors {
		if e.Code != codeDuplicate || e.Index < 0 || e.Index >= len(items) {
			return nil, err
		}
		present = append(present, items[e.Index])
	}
	return present, nil
}

// text makes a string fit for BSON, which is UTF-8 alone.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
