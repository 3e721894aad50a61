package mongo_test

import (
	"testing"

	"sluice/internal/backend/mongo"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// TestEncrypted opens a database by TLS, with the options that the documentation
// names: with the authority of the server's certificate and a certificate of its
// own it works; with another authority, no certificate, or without TLS it does not.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	authority, other := testkit.NewAuthority(t), testkit.NewAuthority(t)
	url := testkit.EncryptedMongo(t, authority)
	own, foreign := authority.Issue(t, "client"), other.Issue(t, "client")
	// Who cannot connect is not waited for.
	const quick = "&serverSelectionTimeoutMS=300"
	for name, c := range map[string]struct {
		options string
		works   bool
	}{
		"as it is to be":          {"?tls=true&tlsCAFile=" + authority.File + "&tlsCertificateKeyFile=" + own.Both, true},
		"another authority":       {"?tls=true&tlsCAFile=" + other.File + "&tlsCertificateKeyFile=" + own.Both + quick, false},
		"no certificate":          {"?tls=true&tlsCAFile=" + authority.File + quick, false},
		"a certificate of others": {"?tls=true&tlsCAFile=" + authority.File + "&tlsCertificateKeyFile=" + foreign.Both + quick, false},
		"no TLS":                  {"?tls=false" + quick, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, url+c.options)
			store, err := mongo.NewDocuments(t.Context(), db, documenttest.Kinds())
			if !c.works {
				if domain.CodeOf(err) != domain.CodeUnavailable {
					t.Errorf("got %v", err)
				}
				return
			}
			if err == nil {
				err = store.Check(t.Context())
			}
			if err != nil {
				t.Errorf("it does not work: %v", err)
			}
		})
	}
}
