package mongo_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/backend/mongo"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// open opens a database. Whoever gives no options is not about how long a call may
// take: on a busy machine that is as long as it takes.
func open(tb testing.TB, url string) *mongo.DB {
	tb.Helper()
	if !strings.Contains(url, "?") {
		url += "?timeoutMS=300000"
	}
	db, err := mongo.Open(url)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.Close(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return db
}

// collection is reached past the adapters.
func collection(t *testing.T, url, name string) *driver.Collection {
	t.Helper()
	client, err := driver.Connect(options.Client().ApplyURI(url))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
	return client.Database(url[strings.LastIndex(url, "/")+1:]).Collection(name)
}

func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n := testkit.Seed(t)
	return rand.New(rand.NewPCG(n, 0))
}

func TestOpenTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	nobody := testkit.StartMongo(t)
	nobody.Kill()
	for name, c := range map[string]struct {
		url  string
		want domain.Code
	}{
		"nobody listens": {nobody.URL(), domain.CodeUnavailable},
		"no URL":         {"hidden", domain.CodeInvalid},
		"no such scheme": {"postgres://user:hidden@127.0.0.1/x", domain.CodeInvalid},
		"no escaping":    {"mongodb://user:hidden@@:127.0.0.1/x", domain.CodeInvalid},
		"bad option":     {"mongodb://user:hidden@127.0.0.1/x?w=majority&journal=perhaps&hidden", domain.CodeInvalid},
		"bad database":   {"mongodb://127.0.0.1/a%20hidden", domain.CodeInvalid},
		"a password":     {"mongodb://user:hidden@127.0.0.1:1/x?serverSelectionTimeoutMS=1000", domain.CodeUnavailable},
	} {
		for what, use := range map[string]func(*mongo.DB) error{
			"documents": func(db *mongo.DB) error {
				_, err := mongo.NewDocuments(t.Context(), db, documenttest.Kinds())
				return err
			},
			"timer log": func(db *mongo.DB) error { _, err := mongo.NewTimerLog(t.Context(), db); return err },
		} {
			db, err := mongo.Open(c.url)
			if err == nil {
				err = use(db)
				_ = db.Close(t.Context())
			}
			if domain.CodeOf(err) != c.want {
				t.Errorf("%s, %s: %v, want code %s", name, what, err, c.want)
			}
			for ; err != nil; err = errors.Unwrap(err) {
				if strings.Contains(err.Error(), "hidden") {
					t.Errorf("%s, %s: the error tells the secret: %v", name, what, err)
				}
			}
		}
	}
}

func TestVersion(t *testing.T) {
	if v, err := open(t, testkit.Mongo(t)).Version(t.Context()); err != nil || !strings.Contains(v, "MongoDB ") {
		t.Errorf("got %q, %v", v, err)
	}
}
