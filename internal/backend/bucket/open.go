// Package bucket opens what an archive lies in: a folder, or a bucket of S3 or of
// a service that speaks its protocol, as those of Google, Cloudflare and MinIO do.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"sluice/internal/archive"
	"sluice/internal/domain"
)

// Open opens what an archive is in: a folder, which it makes, or a bucket such
// as s3://name or gs://name. It asks nothing of the bucket's service yet.
func Open(_ context.Context, place string) (archive.Files, error) {
	if place == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the archive's address is empty; name a folder, or a bucket such as s3://name")
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
	switch scheme {
	case "file":
		return nil, domain.Errorf(domain.CodeInvalid, "name the archive's folder by its path, without file://")
	case "azblob":
		return nil, domain.Errorf(domain.CodeInvalid,
			"Azure's own protocol is not spoken any more: put a gateway that speaks S3 before the container and write s3://name?endpoint=URL, or mount the container and name the folder")
	}
	if _, known := options[scheme]; !known {
		return nil, domain.Errorf(domain.CodeInvalid, "the kind of the archive's address is unknown; name a folder, or a bucket as s3://name or gs://name")
	}
	r, err := parse(address)
	if err != nil {
		return nil, err
	}
	return r.open()
}

// failed says in the program's codes what could not be done.
func failed(action, key string, code domain.Code, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s %s in the archive: %w", action, key, err)
	}
	return domain.Errorf(code, "%s %s in the archive: %w", action, key, err)
}
