package bucket

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"sluice/internal/domain"
)

const (
	// google speaks S3 as well, to holders of HMAC keys.
	google = "https://storage.googleapis.com"
	// googleRegion is what Google takes for every bucket.
	googleRegion = "auto"
	// otherRegion is what servers of other makers take: most ignore it.
	otherRegion = "us-east-1"
	// answerWait is how long a server may take to begin an answer.
	answerWait = time.Minute
)

// openS3 makes a client of the bucket's service. Credentials are what the SDK
// finds in the environment, the shared files or the machine's role.
func (r remote) openS3(ctx context.Context) (*blob.Bucket, error) {
	// What goes wrong here is about the environment and the shared files, whose
	// contents are not for a log.
	c, err := config.LoadDefaultConfig(ctx, config.WithRegion(r.region))
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the settings for the archive in %s://%s cannot be read; check the AWS_… variables and the files in ~/.aws", r.scheme, r.name)
	}
	c.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = answerWait })
	endpoint := r.endpoint
	switch {
	case r.scheme == "gs":
		endpoint = cmp.Or(endpoint, google)
		c.Region = googleRegion
	case endpoint != "":
		c.Region = cmp.Or(c.Region, otherRegion)
	case c.Region == "":
		return nil, domain.Errorf(domain.CodeInvalid, "the region of the archive in s3://%s is not known; write s3://%[1]s?region=REGION, or set AWS_REGION", r.name)
	}
	if endpoint != "" {
		// Checksums in trailers are Amazon's own; the archive has its own, too.
		c.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		c.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) {
		if endpoint != "" {
			o.BaseEndpoint, o.UsePathStyle = &endpoint, true
		}
		if r.scheme == "gs" {
			o.HTTPSignerV4 = unencodedSigner{o.HTTPSignerV4}
		}
	})
	// Uploads do not go by the client's setting.
	bucket, err := s3blob.OpenBucket(ctx, client, r.name, &s3blob.Options{RequestChecksumCalculation: c.RequestChecksumCalculation})
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "open the archive in %s://%s: %w", r.scheme, r.name, err)
	}
	return bucket, nil
}

// unencodedSigner does not sign which encodings are accepted: Google's servers
// change that header on the way, so that no signature of it fits.
type unencodedSigner struct{ s3.HTTPSignerV4 }

// SignHTTP implements s3.HTTPSignerV4.
func (s unencodedSigner) SignHTTP(ctx context.Context, c aws.Credentials, r *http.Request, payloadHash, service, region string, at time.Time, options ...func(*v4.SignerOptions)) error {
	const header = "Accept-Encoding"
	accepted, given := r.Header[header]
	r.Header.Del(header)
	err := s.HTTPSignerV4.SignHTTP(ctx, c, r, payloadHash, service, region, at, options...)
	if given {
		r.Header[header] = accepted
	}
	return err
}
