package testkit

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// mongoDatabase is a database as the kit's own words reach it.
type mongoDatabase struct {
	*testing.T
	host, name string
}

func openMongo(t *testing.T, text string) mongoDatabase {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mongodb" {
		t.Fatalf("%q is no URL of MongoDB's protocol (%v)", text, err)
	}
	return mongoDatabase{t, u.Host, strings.TrimPrefix(u.Path, "/")}
}

func (d mongoDatabase) insert(ids ...int) {
	d.Helper()
	documents := bson.A{}
	for _, id := range ids {
		documents = append(documents, bson.D{{Key: "_id", Value: id}})
	}
	command := bson.D{{Key: "insert", Value: "a"}, {Key: "documents", Value: documents}, {Key: "$db", Value: d.name}}
	if err := mongoCommand(d.Context(), d.host, command, nil); err != nil {
		d.Fatalf("insert: %v", err)
	}
}

func (d mongoDatabase) count() int {
	d.Helper()
	var answer struct{ N int }
	command := bson.D{{Key: "count", Value: "a"}, {Key: "$db", Value: d.name}}
	if err := mongoCommand(d.Context(), d.host, command, &answer); err != nil {
		d.Fatalf("count: %v", err)
	}
	return answer.N
}

func TestMongoDatabasesAreApart(t *testing.T) {
	first, second := openMongo(t, Mongo(t)), openMongo(t, Mongo(t))
	first.insert(1)
	if n, m := first.count(), second.count(); n != 1 || m != 0 {
		t.Errorf("the databases have %d and %d documents, want 1 and 0", n, m)
	}
	dropDatabase(t, first.host, first.name)
	if n := first.count(); n != 0 {
		t.Errorf("%d documents are left of a dropped database", n)
	}
}

func TestMongoSurvivesAKill(t *testing.T) {
	server := StartMongo(t)
	db := openMongo(t, server.URL())
	db.insert(1, 2, 3)
	server.Kill()
	if err := mongoAnswers(t.Context(), server.process.port); err == nil {
		t.Fatal("a killed server answers")
	}
	server.Start()
	if n := db.count(); n != 3 {
		t.Errorf("%d documents are left of 3", n)
	}
	server.Restart()
	if n := db.count(); n != 3 {
		t.Errorf("%d documents are left of 3 after an orderly restart", n)
	}
}

// TestMongoTakesManyUpdates: calls of the size that drivers make are answered, and
// change what they are to change.
func TestMongoTakesManyUpdates(t *testing.T) {
	const n = 150
	db := openMongo(t, Mongo(t))
	var documents, updates bson.A
	for i := range n {
		id := fmt.Sprint("d", i)
		documents = append(documents, bson.D{{Key: "_id", Value: id}, {Key: "n", Value: i}})
		updates = append(updates, bson.D{
			{Key: "q", Value: bson.D{{Key: "_id", Value: id}, {Key: "n", Value: bson.D{{Key: "$lt", Value: n / 2}}}}},
			{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "changed", Value: true}}}}},
		})
	}
	var answer struct{ N int }
	for _, command := range []bson.D{
		{{Key: "insert", Value: "a"}, {Key: "documents", Value: documents}},
		{{Key: "update", Value: "a"}, {Key: "updates", Value: append(updates, updates...)}},
		{{Key: "count", Value: "a"}, {Key: "query", Value: bson.D{{Key: "changed", Value: true}}}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), startTime)
		err := mongoCommand(ctx, db.host, append(command, bson.E{Key: "$db", Value: db.name}), &answer)
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", command[0].Key, err)
		}
	}
	if answer.N != n/2 {
		t.Errorf("%d documents were changed, want %d", answer.N, n/2)
	}
}

func TestMongoURLOfAServerThatIsGiven(t *testing.T) {
	for given, want := range map[string]string{
		"mongodb://db.test":                "db.test:27017",
		"mongodb://127.0.0.1:27018/":       "127.0.0.1:27018",
		"mongodb://user:hidden@db.test":    "",
		"mongodb+srv://db.test":            "",
		"mongodb://db.test/?tls=true":      "",
		"mongodb://user:hidden@bad host %": "",
	} {
		got, err := mongoHost(given)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %q, %v, want %q", given, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hidden") {
			t.Errorf("the error tells a password: %v", err)
		}
	}
}
