package bucket_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/archive"
	"sluice/internal/backend/bucket"
	"sluice/internal/domain"
	"sluice/internal/testkit/fakebucket"
)

// secret is what no error may show.
const secret = "swordfish"

func TestOpenRefuses(t *testing.T) {
	for name, value := range fakebucket.Environment() {
		t.Setenv(name, value)
	}
	for place, says := range map[string]string{
		"":                                "name a folder",
		"nosuch://bucket?token=swordfish": "s3://name or gs://name",
		"swordfish://bucket":              "s3://name or gs://name",
		"s3://a\x7fb?token=swordfish":     "cannot be read",
		"file:///tmp/x?token=swordfish":   "without file://",
		"s3://key:swordfish@bucket":       "by the environment",
		"gs://swordfish@bucket":           "by the environment",
		"azblob://key:swordfish@bucket":   "s3://name?endpoint=URL",
		"s3://bucket?aws_secret_access_key=swordfish&region=x": "there are region, endpoint, prefix",
		"s3://bucket?swordfish=1":                              "there are region, endpoint, prefix",
		"s3://bucket?region=x;swordfish":                       "cannot be read",
		"s3://bucket?region=x&region=swordfish":                "twice",
		"s3://bucket/folder?region=x":                          "?prefix=FOLDER/",
		"s3://?region=x":                                       "names no bucket",
		"s3://bucket":                                          "set AWS_REGION",
		"s3://bucket?endpoint=https://key:swordfish@host":      "without keys",
		"s3://bucket?endpoint=https://host/%3Fsig=swordfish":   "without keys",
		"s3://bucket?endpoint=swordfish":                       "without keys",
		"gs://bucket?region=swordfish":                         "there are endpoint, prefix",
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

func open(t *testing.T, place string) archive.Files {
	t.Helper()
	files, err := bucket.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// listed are the files whose keys begin with a prefix.
func listed(t *testing.T, files archive.Files, prefix string) (objects []archive.Object) {
	t.Helper()
	for o, err := range files.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	return objects
}

// roundTrip writes, reads, lists and removes a file.
func roundTrip(t *testing.T, files archive.Files, data []byte) {
	t.Helper()
	const key = "history/source=a%2Fb/day=2026-10-16/part-1"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(files.Write(t.Context(), key, data))
	if got, err := files.Read(t.Context(), key); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("read %d bytes of %d: %v", len(got), len(data), err)
	}
	for _, n := range []int64{1, 1000, int64(len(data)), int64(len(data)) + 5} {
		want := data[max(0, int64(len(data))-n):]
		if got, err := files.ReadTail(t.Context(), key, int64(len(data)), n); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("of the last %d bytes %d were read: %v", n, len(got), err)
		}
	}
	// Keys are in their own order, whatever the folders are.
	must(files.Write(t.Context(), "history/source=a%2Fb-c", []byte("1")))
	if o := listed(t, files, "history/source"); len(o) != 2 || o[0].Key != "history/source=a%2Fb-c" || o[1].Key != key || o[1].Size != int64(len(data)) {
		t.Fatalf("listed %+v", o)
	}
	if o := listed(t, files, "cold/"); len(o) != 0 {
		t.Fatalf("listed %+v", o)
	}
	for range 2 {
		must(files.Remove(t.Context(), key))
	}
	if _, err := files.Read(t.Context(), key); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("what was removed reads as %v", err)
	}
	if o := listed(t, files, ""); len(o) != 1 {
		t.Errorf("listed %+v", o)
	}
}

// large is more than is sent in one piece.
var large = bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)

func TestFolder(t *testing.T) {
	files := open(t, t.TempDir()+"/new/archive")
	roundTrip(t, files, large)
	for _, key := range []string{"../beside", "/etc/passwd", "a/../../b"} {
		if err := files.Write(t.Context(), key, nil); err == nil {
			t.Errorf("%s was written", key)
		}
	}
}

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
	if err := whole.Write(t.Context(), "history/beside", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := part.Write(t.Context(), "history/within", []byte("2")); err != nil {
		t.Fatal(err)
	}
	if o := listed(t, part, ""); len(o) != 1 || o[0].Key != "history/within" {
		t.Errorf("listed %+v", o)
	}
	if got, err := whole.Read(t.Context(), "some/where/history/within"); err != nil || string(got) != "2" {
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
		if r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("%s %s accepts %q", r.Method, r.URL, r.Header.Get("Accept-Encoding"))
		}
		// Over HTTPS, such checksums would come in a trailer.
		for name := range r.Header {
			if strings.Contains(name, "Checksum") || name == "X-Amz-Trailer" {
				t.Errorf("%s %s has %s", r.Method, r.URL, name)
			}
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
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
		_, err := open(t, place).Read(t.Context(), "history/x")
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("got %v", err)
		}
	}
}
