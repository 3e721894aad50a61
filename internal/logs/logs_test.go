package logs_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"sluice/internal/logs"
)

func TestLines(t *testing.T) {
	for _, format := range []string{logs.Text, logs.JSON} {
		var out bytes.Buffer
		log := logs.New(&out, format, slog.LevelInfo).With("process", "here")
		log.Debug("a run has started")
		log.InfoContext(logs.WithCorrelation(t.Context(), "request-1"), "a run has started", "run", 7)
		log.Warn("something that has no name")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || strings.Contains(lines[1], "event") || strings.Contains(lines[1], "correlation_id") {
			t.Fatalf("%s: %s", format, out.String())
		}
		if format == logs.Text {
			for _, want := range []string{"event=run.started", "correlation_id=request-1", "run=7", "process=here", `msg="a run has started"`} {
				if !strings.Contains(lines[0], want) {
					t.Errorf("%s is not in %s", want, lines[0])
				}
			}
			continue
		}
		var line map[string]any
		if err := json.Unmarshal([]byte(lines[0]), &line); err != nil || line["event"] != "run.started" || line["correlation_id"] != "request-1" || line["level"] != "INFO" {
			t.Errorf("%v, %v", line, err)
		}
	}
}
