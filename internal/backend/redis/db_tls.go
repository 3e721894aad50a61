package redis

import (
	"net/url"

	"github.com/redis/rueidis"

	"sluice/internal/certificate"
	"sluice/internal/domain"
)

// tlsFiles are the files that a URL names for TLS.
type tlsFiles struct{ ca, cert, key string }

// cutFiles takes them off a URL: the library does not know them.
func cutFiles(text string) (address string, files tlsFiles, err error) {
	u, err := url.Parse(text)
	if err != nil {
		// The library says what is wrong.
		return text, files, nil //nolint:nilerr // see above
	}
	query := u.Query()
	files = tlsFiles{query.Get("ca"), query.Get("cert"), query.Get("key")}
	if files == (tlsFiles{}) {
		return text, files, nil
	}
	if u.Scheme != "rediss" {
		return "", files, domain.Errorf(domain.CodeInvalid, "the Redis URL %s has ca, cert or key, which need TLS; write rediss://…", Redact(text))
	}
	for _, name := range []string{"ca", "cert", "key"} {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	return u.String(), files, nil
}

// use adds the files to what the library is told.
func (f tlsFiles) use(option *rueidis.ClientOption) error {
	if f == (tlsFiles{}) {
		return nil
	}
	config, err := certificate.Files(f.ca, f.cert, f.key)
	if err != nil {
		return err
	}
	if option.TLSConfig != nil {
		config.ServerName = option.TLSConfig.ServerName
	}
	option.TLSConfig = config
	return nil
}
