package relational_test

import (
	"database/sql"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/testkit"
)

// TestEncrypted opens databases by TLS: with the authority of the server's
// certificate, and with another, which must fail.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	authority, other := testkit.NewAuthority(t), testkit.NewAuthority(t)
	for name, c := range map[string]struct {
		start func(testing.TB, *testkit.Authority) string
		by    string
		told  string
	}{
		"mysql":    {testkit.StartEncryptedMariaDB, "?tls=true&ca=", "SHOW SESSION STATUS LIKE 'Ssl_version'"},
		"postgres": {testkit.StartEncryptedPostgres, "?sslmode=verify-full&sslrootcert=", "SELECT 'version', version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := c.start(t, authority)
			db := open(t, url+c.by+authority.File)
			if version := encryption(t, db, c.told); version != "TLSv1.3" && version != "TLSv1.2" {
				t.Errorf("the connection is encrypted by %q", version)
			}
			if untrusted, err := connect(t.Context(), url+c.by+other.File); err == nil {
				_ = untrusted.Close()
				t.Error("a certificate from nobody who is trusted is accepted")
			}
		})
	}
}

// encryption asks a server what a connection is encrypted by.
func encryption(t *testing.T, db *relational.DB, query string) (version string) {
	t.Helper()
	var name string
	err := db.Query(t.Context(), func(r *sql.Rows) error { return r.Scan(&name, &version) }, query)
	if err != nil {
		t.Fatal(err)
	}
	return version
}
