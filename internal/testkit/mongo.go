package testkit

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// mongoVariable names a server of MongoDB's protocol to use: a URL, or the path
// of a mongod.
const mongoVariable = "SLUICE_TEST_MONGO"

// Mongo returns the URL (mongodb://127.0.0.1:PORT/NAME) of an empty database on
// a server of MongoDB's protocol that the tests of this process share: that of
// SLUICE_TEST_MONGO, else a mongod, else FerretDB.
func Mongo(tb testing.TB) string {
	tb.Helper()
	server := current.use(tb, "mongo", func() (string, error) {
		if given := givenMongo(); given != "" {
			return mongoHost(given)
		}
		prog, err := current.mongoProgram()
		if err != nil {
			return "", err
		}
		p, err := current.launch(prog)
		if err != nil {
			return "", err
		}
		return address(p.port), nil
	})
	current.sayMongo(tb, server)
	name := Prefix(tb)
	if givenMongo() != "" {
		// The server is somebody's: nothing may stay on it.
		tb.Cleanup(func() { dropDatabase(tb, server, name) })
	}
	return mongoURL(server, name)
}

// StartMongo starts a server of MongoDB's protocol for this test alone.
func StartMongo(tb testing.TB) *Server {
	tb.Helper()
	if givenMongo() != "" {
		current.refuse(tb, &missingError{"a MongoDB to restart",
			mongoVariable + " is the URL of a server that is not the tests' own; let it be the path of a mongod, or unset it"})
	}
	prog, err := current.mongoProgram()
	if err != nil {
		current.refuse(tb, err)
	}
	server := current.serve(tb, prog, func(port int) string { return mongoURL(address(port), ownDatabase) })
	current.sayMongo(tb, address(server.process.port))
	return server
}

func mongoURL(host, name string) string { return "mongodb://" + host + "/" + name }

// givenMongo returns the URL of the server that the tests were told to use.
func givenMongo() string {
	if given := os.Getenv(mongoVariable); strings.Contains(given, "://") {
		return given
	}
	return ""
}

// HasMongod says whether MongoDB's own server is there, not only its stand-in.
func HasMongod() bool {
	prog, err := current.mongoProgram()
	return err == nil && prog.name != ferretName
}

// mongoProgram finds a mongod, or else builds FerretDB.
func (k *kit) mongoProgram() (program, error) {
	name := "mongod"
	if given := os.Getenv(mongoVariable); given != "" {
		name = given
	}
	path, err := find("MongoDB", name)
	if err == nil {
		return mongodProgram(path), nil
	}
	if name != "mongod" {
		return program{}, fmt.Errorf("%s names no program that can be run: %s", mongoVariable, name)
	}
	path, err = k.ferret.get(buildFerretDB)
	if err != nil {
		return program{}, &missingError{"MongoDB", "there is no mongod on PATH, and FerretDB cannot be built " +
			"(the Go proxy must be reachable): " + err.Error()}
	}
	return program{
		name: ferretName,
		// It reads all that it has for most questions: it would collect garbage half of
		// the time.
		environment: []string{"GOGC=600"},
		path:        path,
		arguments: func(data string, port int) []string {
			return []string{"-listen", address(port), "-data", data}
		},
		answers: mongoAnswers,
	}, nil
}

func mongodProgram(path string) program {
	return program{
		name: "mongod",
		path: path,
		arguments: func(data string, port int) []string {
			return []string{
				"--dbpath", data, "--port", strconv.Itoa(port), "--bind_ip", "127.0.0.1", "--nounixsocket",
				"--wiredTigerCacheSizeGB", "0.25",
			}
		},
		answers: mongoAnswers,
	}
}

// mongoAnswers asks a server once.
func mongoAnswers(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return mongoCommand(ctx, address(port), bson.D{{Key: "ping", Value: 1}, {Key: "$db", Value: "admin"}}, nil)
}

func dropDatabase(tb testing.TB, host, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), stopTime)
	defer cancel()
	err := mongoCommand(ctx, host, bson.D{{Key: "dropDatabase", Value: 1}, {Key: "$db", Value: name}}, nil)
	if err != nil {
		tb.Errorf("testkit: drop database %s: %v", name, err)
	}
}

// sayMongo logs which server is used, once: what a test proves depends on it.
func (k *kit) sayMongo(tb testing.TB, host string) {
	tb.Helper()
	if !k.once("version of MongoDB") {
		return
	}
	ctx, cancel := context.WithTimeout(tb.Context(), startTime)
	defer cancel()
	var info struct {
		Version  string `bson:"version"`
		FerretDB string `bson:"ferretdbVersion"`
	}
	err := mongoCommand(ctx, host, bson.D{{Key: "buildInfo", Value: 1}, {Key: "$db", Value: "admin"}}, &info)
	switch {
	case err != nil:
		tb.Fatalf("testkit: ask for MongoDB's version: %v", err)
	case givenMongo() != "" && info.FerretDB != "":
		tb.Logf("MongoDB protocol: FerretDB %s (%s)", info.FerretDB, mongoVariable)
	case info.FerretDB != "":
		tb.Logf("MongoDB protocol: FerretDB %s (no mongod on this machine)", ferretVersion(k.ferret.value))
	default:
		tb.Logf("MongoDB protocol: MongoDB %s", info.Version)
	}
}
