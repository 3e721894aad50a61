package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	sim "sluice/internal/simulator/declared"
	"sluice/internal/source/declared"
)

// Declared compares the documents of an account with the truth of the simulator that was
// made from the same file, and lists what differs. Of kinds that are lasting nothing
// tells what is gone.
func Declared(ctx context.Context, docs document.Reader, account int64, file *declared.File, truth sim.Truth, lasting ...document.Kind) (all []string, err error) {
	for _, s := range file.Streams {
		kind := file.Kind(s)
		left := truth.Records[s.Name]
		err := docs.Scan(ctx, document.Query{Account: account, Kind: kind, WithRaw: true}, func(d *document.Document) error {
			raw, there := left[d.Name]
			delete(left, d.Name)
			switch {
			case there && d.Deleted:
				all = append(all, fmt.Sprintf("%s %s is said to be gone", kind, d.Name))
			case !there && !d.Deleted && !slices.Contains(lasting, kind):
				all = append(all, fmt.Sprintf("%s %s is gone, and nobody knows", kind, d.Name))
			case there && gjson.GetBytes(d.Raw, "turn").Int() != gjson.GetBytes(raw, "turn").Int():
				all = append(all, fmt.Sprintf("%s %s is old", kind, d.Name))
			}
			return nil
		})
		if err != nil {
			return all, err
		}
		for name := range left {
			all = append(all, fmt.Sprintf("%s %s is missing", kind, name))
		}
	}
	slices.Sort(all)
	return all[:min(len(all), maxDifferences)], nil
}
