package secret_test

import (
	"testing"

	"sluice/internal/secret"
)

func TestMaskedURL(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		"/var/lib/archive?x=y":             "/var/lib/archive?x=y",
		"https://api.github.com":           "https://api.github.com",
		"https://me:swordfish@host/api":    "https://********@host/api",
		"https://ghp_swordfish@host/api":   "https://********@host/api",
		"https://host/api?token=swordfish": "https://host/api?token=********",
		"https://host/#swordfish":          "https://host/#********",
		"s3://KEY:swordfish@bucket?region=r&secret=swordfish":   "s3://********@bucket?region=********&secret=********",
		"postgres://me:swordfish@host/db?sslmode=require":       "postgres://me:********@host/db?sslmode=require",
		"postgres://me@host/db?sslpassword=swordfish&sslmode=x": "postgres://me@host/db?sslmode=x&sslpassword=********",
		"redis://:swordfish@host":                               "redis://:********@host",
		"https://host/%zz?swordfish":                            "********",
		"https://host/?a=%zzswordfish":                          "https://host/?********",
	} {
		if got := secret.MaskedURL(text); got != want {
			t.Errorf("MaskedURL(%q) is %q, want %q", text, got, want)
		}
	}
}
