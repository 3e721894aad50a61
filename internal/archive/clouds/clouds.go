// Package clouds includes the drivers for archives in the buckets of Amazon S3
// and what speaks its protocol, Google Cloud Storage and Azure. They are large,
// so that a program has them only if it imports this package.
package clouds

import (
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/s3blob"    // s3://
)
