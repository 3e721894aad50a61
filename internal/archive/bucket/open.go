// Package bucket opens what an archive lies in: a folder, or a bucket of S3,
// of a service that speaks its protocol, of Google or of Azure.
package bucket

import (
	"context"
	"net/url"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"sluice/internal/domain"
)

// Open opens what an archive is in: a folder, which it makes, or a bucket such
// as s3://name, gs://name or azblob://name. It asks nothing of the bucket's
// service yet. The caller closes what it returns.
func Open(ctx context.Context, place string) (*blob.Bucket, error) {
	if place == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the archive has no place; name a folder, or a bucket such as s3://name")
	}
	scheme, _, isURL := strings.Cut(place, "://")
	if !isURL {
		return openFolder(place)
	}
	// Whoever writes secrets into an address is told not to, without repeating
	// them: nothing of it but scheme and name gets into an error.
	address, err := url.Parse(place)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the archive's address cannot be read; write it as s3://name?region=eu-central-1")
	}
	if scheme == "file" {
		return nil, domain.Errorf(domain.CodeInvalid, "name the archive's folder by its path, without file://")
	}
	if _, known := options[scheme]; !known {
		return nil, domain.Errorf(domain.CodeInvalid, "the archive's address is of no kind that is known; name a folder, or a bucket as s3://name, gs://name or azblob://name")
	}
	r, err := parse(address)
	if err != nil {
		return nil, err
	}
	open := r.openS3
	if scheme == "azblob" {
		open = r.openAzure
	}
	bucket, err := open(ctx)
	if err == nil && r.prefix != "" {
		bucket = blob.PrefixedBucket(bucket, r.prefix)
	}
	return bucket, err
}

func openFolder(path string) (*blob.Bucket, error) {
	// Beside the files, and without a second file of metadata for each: a name
	// that changes within one folder does so at once.
	bucket, err := fileblob.OpenBucket(path, &fileblob.Options{CreateDir: true, NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "open the folder of the archive: %w", err)
	}
	return bucket, nil
}
