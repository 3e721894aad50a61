package github

import (
	"testing"

	"sluice/internal/domain"
	"sluice/internal/source"
	"sluice/internal/source/sourcetest"
)

func TestConformance(t *testing.T) {
	for name, opt := range map[string]Options{"GraphQL": {Contributed: true}, "REST alone": {NoGraphQL: true}} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, sourcetest.Factory{
				New: func(t *testing.T, url string) source.Source {
					o := opt
					o.BaseURL = url
					src, err := New(o)
					if err != nil {
						t.Fatal(err)
					}
					return src
				},
				Run:    domain.Run{ID: 1, AccountID: 1, Login: "octo"},
				Token:  testToken,
				Logins: []string{"-a", "a--b", "a b", "a?b"},
			})
		})
	}
}
