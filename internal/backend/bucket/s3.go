package bucket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"sluice/internal/archive"
	"sluice/internal/domain"
)

const (
	amazon = "https://s3.amazonaws.com"
	// google speaks S3 as well, to holders of HMAC keys.
	google = "https://storage.googleapis.com"
	// googleRegion is what Google takes for every bucket.
	googleRegion = "auto"
	// otherRegion is what servers of other makers take: most ignore it.
	otherRegion = "us-east-1"
	// answerWait is how long a server may take to begin an answer.
	answerWait = time.Minute
	// tries is how often a request is made: the archive tries again itself.
	tries = 3
)

// bucket keeps an archive in a bucket of a service that speaks S3.
type bucket struct {
	client *minio.Client
	remote
}

// open makes a client of the bucket's service. Credentials are what is found in
// the environment, the shared file or the machine's role.
func (r remote) open() (archive.Files, error) {
	region := cmp.Or(r.region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	endpoint := cmp.Or(r.endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	// Whoever is not Amazon is named by a path, not by a host of its own.
	lookup := minio.BucketLookupPath
	switch {
	case r.scheme == "gs":
		endpoint, region = cmp.Or(r.endpoint, google), googleRegion
	case endpoint != "":
		region = cmp.Or(region, otherRegion)
	case region == "":
		return nil, domain.Errorf(domain.CodeInvalid, "the region of the archive in s3://%s is not known; write s3://%[1]s?region=REGION, or set AWS_REGION", r.name)
	default:
		endpoint, lookup = amazon, minio.BucketLookupAuto
	}
	server, err := url.Parse(endpoint)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the endpoint of the archive in %s://%s is not the address of a server", r.scheme, r.name)
	}
	client, err := minio.New(server.Host, &minio.Options{
		Creds: credentials.NewChainCredentials(r.providers()), Secure: server.Scheme == "https", Region: region,
		BucketLookup: lookup, Transport: transport(), MaxRetries: tries,
	})
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "open the archive in %s://%s: %w", r.scheme, r.name, err)
	}
	return &bucket{client: client, remote: r}, nil
}

// providers are where credentials are looked for, in this order.
func (r remote) providers() []credentials.Provider {
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	// Other services have no such role, and without it nobody is waited for.
	if r.scheme != "gs" && os.Getenv("AWS_EC2_METADATA_DISABLED") != "true" {
		providers = append(providers, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}})
	}
	return providers
}

func transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = answerWait
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	// What is stored is compressed already, and read as it lies there.
	t.DisableCompression = true
	return t
}

// Write implements archive.Files.
func (b *bucket) Write(ctx context.Context, key string, data []byte) error {
	_, err := b.client.PutObject(ctx, b.name, b.prefix+key, bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{
		ContentType: archive.ContentType,
		// Every service understands this checksum; not all understand bodies that
		// are signed in pieces.
		SendContentMd5: true, DisableContentSha256: true,
		// Google takes parts in its own way only.
		DisableMultipart: b.scheme == "gs",
	})
	return b.failed("write", key, err)
}

// Read implements archive.Files.
func (b *bucket) Read(ctx context.Context, key string) ([]byte, error) {
	return b.get(ctx, key, minio.GetObjectOptions{})
}

// ReadTail implements archive.Files.
func (b *bucket) ReadTail(ctx context.Context, key string, size, n int64) ([]byte, error) {
	var o minio.GetObjectOptions
	if size > n {
		if err := o.SetRange(size-n, size-1); err != nil {
			return nil, b.failed("read", key, err)
		}
	}
	return b.get(ctx, key, o)
}

func (b *bucket) get(ctx context.Context, key string, o minio.GetObjectOptions) ([]byte, error) {
	body, _, _, err := minio.Core{Client: b.client}.GetObject(ctx, b.name, b.prefix+key, o)
	if err != nil {
		return nil, b.failed("read", key, err)
	}
	defer func() { _ = body.Close() }() // it was only read
	data, err := io.ReadAll(body)
	return data, b.failed("read", key, err)
}

// Remove implements archive.Files.
func (b *bucket) Remove(ctx context.Context, key string) error {
	err := b.client.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{})
	if missing(err) {
		return nil
	}
	return b.failed("remove", key, err)
}

// List implements archive.Files.
func (b *bucket) List(ctx context.Context, prefix string) iter.Seq2[archive.Object, error] {
	return func(yield func(archive.Object, error) bool) {
		// Whoever stops in between ends the listing.
		ctx, end := context.WithCancel(ctx)
		defer end()
		for o := range b.client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
			if o.Err != nil {
				yield(archive.Object{}, b.failed("list", prefix, o.Err))
				return
			}
			if !yield(archive.Object{Key: o.Key[len(b.prefix):], Size: o.Size, Written: o.LastModified}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(archive.Object{}, b.failed("list", prefix, err))
		}
	}
}

func missing(err error) bool { return minio.ToErrorResponse(err).Code == minio.NoSuchKey }

// failed says in the program's codes what the service could not do.
func (b *bucket) failed(action, key string, err error) error {
	if missing(err) {
		return failed(action, key, domain.CodeNotFound, err)
	}
	if minio.ToErrorResponse(err).StatusCode == http.StatusForbidden {
		// It is not the caller who may not, but the service.
		action = "the service's credentials do not allow it: " + action
	}
	return failed(action, key, domain.CodeUnavailable, err)
}
