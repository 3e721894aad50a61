package redis_test

import (
	"strings"
	"testing"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

func TestEncrypted(t *testing.T) {
	t.Parallel()
	authority := testkit.NewAuthority(t)
	url := testkit.StartEncryptedRedis(t, authority)
	db, err := redis.Open(t.Context(), redis.Options{URL: url + "?ca=" + authority.File})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		url, says string
		code      domain.Code
	}{
		"nobody it trusts": {url, "certificate", domain.CodeUnavailable},
		"another's":        {url + "?ca=" + testkit.NewAuthority(t).File, "certificate", domain.CodeUnavailable},
		"no file":          {url + "?ca=/nowhere.pem", "/nowhere.pem", domain.CodeInvalid},
		"without TLS":      {strings.Replace(url, "rediss", "redis", 1) + "?ca=" + authority.File, "rediss://", domain.CodeInvalid},
	} {
		if _, err := redis.Open(t.Context(), redis.Options{URL: c.url}); domain.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %s that says %q", name, err, c.code, c.says)
		}
	}
}
