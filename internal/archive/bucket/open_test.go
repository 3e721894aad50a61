package bucket_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"gocloud.dev/blob"

	"sluice/internal/archive/bucket"
	"sluice/internal/domain"
	"sluice/internal/testkit/fakebucket"
)

// secret is what no error may show.
const secret = "swordfish"

func TestOpenRefuses(t *testing.T) {
	for name, value := range fakebucket.Environment() {
		t.Setenv(name, value)
	}
	for _, name := range []string{"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGEBLOB_CONNECTIONSTRING"} {
		t.Setenv(name, "")
	}
	for place, says := range map[string]string{
		"":                                "name a folder",
		"nosuch://bucket?token=swordfish": "s3://name, gs://name or azblob://name",
		"swordfish://bucket":              "s3://name, gs://name or azblob://name",
		"s3://a\x7fb?token=swordfish":     "cannot be read",
		"file:///tmp/x?token=swordfish":   "without file://",
		"s3://key:swordfish@bucket":       "by the environment",
		"gs://swordfish@bucket":           "by the environment",
		"azblob://key:swordfish@bucket":   "by the environment",
		"s3://bucket?aws_secret_access_key=swordfish&region=x": "there are region, endpoint, prefix",
		"s3://bucket?swordfish=1":                              "there are region, endpoint, prefix",
		"azblob://bucket?sig=swordfish":                        "there are prefix",
		"s3://bucket?region=x;swordfish":                       "cannot be read",
		"s3://bucket?region=x&region=swordfish":                "twice",
		"s3://bucket/folder?region=x":                          "?prefix=FOLDER/",
		"s3://?region=x":                                       "names no bucket",
		"s3://bucket":                                          "set AWS_REGION",
		"s3://bucket?endpoint=https://key:swordfish@host":      "without keys",
		"s3://bucket?endpoint=https://host/%3Fsig=swordfish":   "without keys",
		"s3://bucket?endpoint=swordfish":                       "without keys",
		"azblob://bucket":                                      "set AZURE_STORAGE_ACCOUNT",
	} {
		_, err := bucket.Open(t.Context(), place)
		if domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q: got %v", place, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, says) || strings.Contains(text, secret) {
			t.Errorf("%q: got %s", place, text)
		}
	}
}

func open(t *testing.T, place string) *blob.Bucket {
	t.Helper()
	b, err := bucket.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// roundTrip writes, reads, lists and removes a file.
func roundTrip(t *testing.T, b *blob.Bucket, data []byte) {
	t.Helper()
	const key = "history/source=a%2Fb/day=2026-10-16/part-1"
	if err := b.Upload(t.Context(), key, bytes.NewReader(data), &blob.WriterOptions{ContentType: "text/plain"}); err != nil {
		t.Fatal(err)
	}
	if got, err := b.ReadAll(t.Context(), key); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("read %d bytes of %d: %v", len(got), len(data), err)
	}
	if o, err := b.List(&blob.ListOptions{Prefix: "history/"}).Next(t.Context()); err != nil || o.Key != key || o.Size != int64(len(data)) {
		t.Fatalf("listed %+v: %v", o, err)
	}
	if err := b.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
}

// large is more than is sent in one piece.
var large = bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)

func TestAzure(t *testing.T) { roundTrip(t, open(t, fakebucket.StartAzure(t)), large) }

func TestS3(t *testing.T) {
	server := fakebucket.StartS3(t)
	roundTrip(t, open(t, server.Place("&region=eu-central-1")), large)
	for _, r := range server.Requests() {
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/s3/") {
			t.Errorf("%s %s is signed for another region: %s", r.Method, r.URL, r.Header.Get("Authorization"))
		}
	}
}

// TestPrefix: what is beside it is neither seen nor touched.
func TestPrefix(t *testing.T) {
	server := fakebucket.StartS3(t)
	whole, part := open(t, server.Place("")), open(t, server.Place("&prefix=some/where"))
	if err := whole.WriteAll(t.Context(), "history/beside", []byte("1"), nil); err != nil {
		t.Fatal(err)
	}
	if err := part.WriteAll(t.Context(), "history/within", []byte("2"), nil); err != nil {
		t.Fatal(err)
	}
	if o, err := part.List(nil).Next(t.Context()); err != nil || o.Key != "history/within" {
		t.Errorf("listed %+v: %v", o, err)
	}
	if got, err := whole.ReadAll(t.Context(), "some/where/history/within"); err != nil || string(got) != "2" {
		t.Errorf("read %q: %v", got, err)
	}
}

// TestGoogle: requests are as Google's servers understand them, which change one
// header on the way and know no checksums in trailers.
func TestGoogle(t *testing.T) {
	server := fakebucket.StartS3(t)
	roundTrip(t, open(t, "gs://"+fakebucket.Name+"?endpoint="+server.URL), large)
	methods := map[string]bool{}
	for _, r := range server.Requests() {
		methods[r.Method] = true
		signed := r.Header.Get("Authorization")
		if !strings.Contains(signed, "/auto/s3/") || strings.Contains(signed, "accept-encoding") {
			t.Errorf("%s %s is signed as %s", r.Method, r.URL, signed)
		}
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s %s accepts %q", r.Method, r.URL, r.Header.Get("Accept-Encoding"))
		}
		// Over HTTPS, such checksums would come in a trailer.
		for name := range r.Header {
			if strings.Contains(name, "Checksum") || name == "X-Amz-Trailer" {
				t.Errorf("%s %s has %s", r.Method, r.URL, name)
			}
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete} {
		if !methods[method] {
			t.Errorf("there was no %s", method)
		}
	}
}

// TestErrorsShowNoSecrets: wrong keys, and a server that cannot be reached.
func TestErrorsShowNoSecrets(t *testing.T) {
	server := fakebucket.StartS3(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "WRONG")
	for _, place := range []string{server.Place(""), "s3://" + fakebucket.Name + "?endpoint=http://127.0.0.1:1"} {
		_, err := open(t, place).ReadAll(t.Context(), "history/x")
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("got %v", err)
		}
	}
}
