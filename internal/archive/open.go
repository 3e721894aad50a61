package archive

import (
	"context"
	"net/url"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"sluice/internal/domain"
)

// Open opens what an archive is in: a folder, which it makes, or a bucket such
// as s3://name, gs://name or azblob://name, whose driver the program has to
// include. The caller closes it.
func Open(ctx context.Context, place string) (*blob.Bucket, error) {
	if place == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the archive has no place; name a folder, or a bucket such as s3://name")
	}
	scheme, _, isURL := strings.Cut(place, "://")
	if !isURL {
		// Beside the files, and without a second file of metadata for each:
		// a name that changes within one folder does so at once.
		bucket, err := fileblob.OpenBucket(place, &fileblob.Options{CreateDir: true, NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
		if err != nil {
			return nil, domain.Errorf(domain.CodeUnavailable, "open the folder of the archive: %w", err)
		}
		return bucket, nil
	}
	// Addresses may carry secrets: nothing that repeats one gets into an error.
	address, err := url.Parse(place)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the archive's address of scheme %q cannot be read; write it as s3://name", scheme)
	}
	if scheme == fileblob.Scheme {
		return nil, domain.Errorf(domain.CodeInvalid, "name the archive's folder by its path, without %s://", scheme)
	}
	if !blob.DefaultURLMux().ValidBucketScheme(scheme) {
		return nil, domain.Errorf(domain.CodeInvalid, "this program includes no driver for archives in %s://; it has %s",
			scheme, strings.Join(blob.DefaultURLMux().BucketSchemes(), ", "))
	}
	bucket, err := blob.DefaultURLMux().OpenBucketURL(ctx, address)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "open the archive in %s://%s: check its options and the credentials of the environment", scheme, address.Host)
	}
	return bucket, nil
}
