package bucket

import (
	"net/url"
	"slices"
	"strings"

	"sluice/internal/domain"
)

// remote is a bucket of a service, as its address tells.
type remote struct {
	scheme, name string
	// The others are "" where the address does not say.
	region, endpoint, prefix string
}

// options are what an address of each kind may say after the bucket's name.
var options = map[string][]string{
	"s3": {"region", "endpoint", "prefix"},
	"gs": {"endpoint", "prefix"},
}

// parse reads an address such as s3://name?region=R&endpoint=URL&prefix=P. No
// part of it may be a credential.
func parse(address *url.URL) (remote, error) {
	r := remote{scheme: address.Scheme, name: address.Host}
	if address.User != nil {
		return r, domain.Errorf(domain.CodeInvalid, "the archive's address has a password or a key in it; take it out, and give keys by the environment")
	}
	if r.name == "" {
		return r, domain.Errorf(domain.CodeInvalid, "the archive's address names no bucket; write it as %s://name", r.scheme)
	}
	if strings.Trim(address.Path, "/") != "" || address.Fragment != "" {
		return r, domain.Errorf(domain.CodeInvalid, "the archive's address names a bucket only; write %s://%s?prefix=FOLDER/ for a part of it", r.scheme, r.name)
	}
	query, err := url.ParseQuery(address.RawQuery)
	if err != nil {
		return r, domain.Errorf(domain.CodeInvalid, "the options of the archive's address cannot be read; write them as ?region=R&prefix=P")
	}
	for name, values := range query {
		// What it is called and what it says may both be a secret.
		if !slices.Contains(options[r.scheme], name) {
			return r, domain.Errorf(domain.CodeInvalid, "the archive's address has an option that is not known; for %s:// there are %s, and keys come from the environment only",
				r.scheme, strings.Join(options[r.scheme], ", "))
		}
		if len(values) > 1 {
			return r, domain.Errorf(domain.CodeInvalid, "the archive's address has %s twice; give it once", name)
		}
	}
	r.region, r.endpoint = query.Get("region"), query.Get("endpoint")
	if r.prefix = strings.Trim(query.Get("prefix"), "/"); r.prefix != "" {
		r.prefix += "/"
	}
	return r, r.checkEndpoint()
}

func (r remote) checkEndpoint() error {
	if r.endpoint == "" {
		return nil
	}
	u, err := url.Parse(r.endpoint)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return domain.Errorf(domain.CodeInvalid, "the endpoint of the archive's address is not the address of a server; write it as https://HOST:PORT, without keys")
	}
	return nil
}
