package sluice

import (
	"fmt"
	"testing"

	"github.com/redis/rueidis"

	"sluice/internal/testkit"
)

// RedisDo sends a command to Redis.
func RedisDo(t *testing.T, url string, command ...string) {
	t.Helper()
	if err := redisAnswer(t, url, command...).Error(); err != nil {
		t.Fatalf("%v: %v", command, err)
	}
}

// RedisSetting returns a setting of Redis.
func RedisSetting(t *testing.T, url, name string) string {
	t.Helper()
	settings, err := redisAnswer(t, url, "CONFIG", "GET", name).AsStrMap()
	if err != nil {
		t.Fatalf("CONFIG GET %s: %v", name, err)
	}
	return settings[name]
}

func redisAnswer(t *testing.T, url string, command ...string) rueidis.RedisResult {
	t.Helper()
	option, err := rueidis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	option.DisableCache, option.ForceSingleClient = true, true
	c, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.Do(t.Context(), c.B().Arbitrary(command...).Build())
}

// CutSQL ends every connection to the database but its own.
func CutSQL(t *testing.T, url string) {
	t.Helper()
	all, end := "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> connection_id()", "KILL CONNECTION %s"
	if testkit.IsPostgres(url) {
		all = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
		end = "SELECT pg_terminate_backend(%s)"
	}
	db := testkit.OpenSQL(t, url)
	// What ends the others must not end itself.
	db.SetMaxOpenConns(1)
	rows, err := db.QueryContext(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	_ = rows.Close()
	for _, id := range ids {
		// One may have ended by itself.
		_, _ = db.ExecContext(t.Context(), fmt.Sprintf(end, id))
	}
}
