package mongo

import (
	"context"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"sluice/internal/fleet"
)

// Backend implements fleet.Teller.
func (d *DB) Backend(ctx context.Context) (fleet.Backend, error) {
	b := fleet.Backend{Kind: "MongoDB", Address: d.database.Name()}
	version, err := d.Version(ctx)
	if err != nil {
		return b, err
	}
	b.Kind, b.Version, _ = strings.Cut(version, " ")
	var stats struct {
		Collections, Objects             float64
		DataSize, StorageSize, IndexSize float64
	}
	var raw bson.M
	if err := d.database.RunCommand(ctx, bson.D{{Key: "dbStats", Value: 1}}).Decode(&raw); err != nil {
		return b, failure(ctx, err)
	}
	for name, to := range map[string]*float64{
		"collections": &stats.Collections, "objects": &stats.Objects,
		"dataSize": &stats.DataSize, "storageSize": &stats.StorageSize, "indexSize": &stats.IndexSize,
	} {
		// Servers write these as integers or as doubles.
		switch n := raw[name].(type) {
		case int32:
			*to = float64(n)
		case int64:
			*to = float64(n)
		case float64:
			*to = n
		}
	}
	b.Figures = []fleet.Figure{
		{Name: "collections", Value: stats.Collections}, {Name: "records", Value: stats.Objects},
		{Name: "data", Value: stats.DataSize, Unit: fleet.Bytes}, {Name: "size", Value: stats.StorageSize, Unit: fleet.Bytes},
		{Name: "indexes", Value: stats.IndexSize, Unit: fleet.Bytes},
	}
	return b, nil
}
