package secret

import (
	"net/url"
	"slices"
	"strings"
)

// databases are schemes of URLs whose user is a name and whose options are known:
// they are worth seeing, but for those that are called as secrets are.
var databases = []string{"postgres", "postgresql", "mysql", "mariadb", "redis", "rediss", "unix", "mongodb", "mongodb+srv"}

// MaskedURL is the text of a setting that is a URL as it may be shown: passwords,
// users that may be keys, and what stands behind the question mark are hidden. What
// is no URL, such as a path, is returned as it is.
func MaskedURL(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return mask
	}
	database := slices.Contains(databases, strings.ToLower(u.Scheme))
	switch _, password := u.User.Password(); {
	case password && database:
		u.User = url.UserPassword(u.User.Username(), mask)
	case u.User != nil && !database:
		u.User = url.User(mask)
	}
	u.RawQuery = maskedQuery(u.RawQuery, database)
	if u.Fragment != "" {
		u.Fragment, u.RawFragment = mask, ""
	}
	// The mask is for people, not for a parser.
	return strings.ReplaceAll(u.String(), url.QueryEscape(mask), mask)
}

func maskedQuery(raw string, database bool) string {
	if raw == "" {
		return ""
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return mask
	}
	for name := range query {
		if !database || namesSecret(name) {
			query.Set(name, mask)
		}
	}
	return query.Encode()
}

func namesSecret(name string) bool {
	return slices.ContainsFunc([]string{"password", "secret", "token", "key", "credential"}, func(word string) bool {
		return strings.Contains(strings.ToLower(name), word)
	})
}
