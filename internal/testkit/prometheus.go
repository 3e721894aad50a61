package testkit

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// StartPrometheus starts a Prometheus for this test alone. Its configuration, and
// other files beside it by their names, are put into a folder of its own.
func StartPrometheus(tb testing.TB, configuration string, files map[string]string) *Server {
	tb.Helper()
	path, err := find("Prometheus", "prometheus")
	if err != nil {
		current.refuse(tb, err)
	}
	server := current.serve(tb, program{
		name: "prometheus",
		path: path,
		prepare: func(data string) error {
			all := map[string]string{"prometheus.yml": configuration}
			for name, text := range files {
				all[name] = text
			}
			for name, text := range all {
				if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		arguments: func(data string, port int) []string {
			return []string{
				"--config.file=" + filepath.Join(data, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(data, "tsdb"),
				"--web.listen-address=" + address(port), "--log.level=warn",
			}
		},
		answers: prometheusAnswers,
	}, prometheusURL)
	if current.once("version of Prometheus") {
		tb.Logf("Prometheus: %s", programVersion(path))
	}
	return server
}

// Promtool returns the path of the program that checks rules.
func Promtool(tb testing.TB) string {
	tb.Helper()
	path, err := find("promtool", "promtool")
	if err != nil {
		current.refuse(tb, err)
	}
	return path
}

func prometheusURL(port int) string { return "http://" + address(port) }

func prometheusAnswers(ctx context.Context, port int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, prometheusURL(port)+"/-/ready", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it says %s", response.Status)
	}
	return nil
}
