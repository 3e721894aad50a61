package redisinfo

import (
	"bufio"
	"maps"
	"strings"
	"testing"
)

func TestCommandsOfClientsAreToldFromThoseOfScripts(t *testing.T) {
	for line, want := range map[string]string{
		`+1339518083.107412 [0 127.0.0.1:60866] "EVALSHA" "abc" "1"`: "evalsha",
		`+1339518083.107412 [0 lua] "hget" "a" "b"`:                  "",
		`+1339518083.107412 [0 127.0.0.1:60866] "INFO" "stats"`:      "",
		`+1339518083.107412 [0 [::1]:60866] "ping"`:                  "ping",
		`+OK`: "",
	} {
		if got := sentCommand(line); got != want {
			t.Errorf("%s is %q, want %q", line, got, want)
		}
	}
}

func TestCallsLeaveOutTheMeasuring(t *testing.T) {
	got, err := parseCalls("# Commandstats\r\ncmdstat_info:calls=4,usec=8\r\ncmdstat_client|setinfo:calls=2,usec=1\r\ncmdstat_get:calls=17,usec=3\r\n")
	want := map[string]int64{"client|setinfo": 2, "get": 17}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestReplies(t *testing.T) {
	for text, want := range map[string]string{"+OK\r\n": "OK", ":12\r\n": "12", "$3\r\na\nb\r\n": "a\nb"} {
		if got, err := reply(bufio.NewReader(strings.NewReader(text))); err != nil || got != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	if _, err := reply(bufio.NewReader(strings.NewReader("-ERR no\r\n"))); err == nil || !strings.Contains(err.Error(), "ERR no") {
		t.Errorf("an error is %v", err)
	}
}
