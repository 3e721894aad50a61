package config

import "net/url"

func notifications() []Setting {
	return []Setting{
		{Name: "notify", Group: "Notifications", Help: "who is told of what needs a person, as a list in the file (docs/notifications.md): name, type (webhook, slack, email) and where to", Commands: []string{"up"},
			field: func(c *Config) any { return &c.Notify }},
	}
}

func logLines() []Setting {
	return []Setting{
		{Name: "log-format", Group: "Log", Help: "text or json: how log lines are written", Commands: []string{"up", "collect", "demo", "load"},
			field: func(c *Config) any { return &c.Log.Format }},
	}
}

func traces() []Setting {
	const group = "Traces"
	return []Setting{
		{Name: "otlp-endpoint", Group: group, Help: "URL that traces are sent to by OTLP over HTTP, such as http://127.0.0.1:4318; by default OTEL_EXPORTER_OTLP_ENDPOINT, and none without", Commands: []string{"up"},
			field: func(c *Config) any { return &c.Traces.Endpoint }},
		{Name: "trace-sample", Group: group, Help: "how many of a thousand requests and runs are traced", Commands: []string{"up"},
			field: func(c *Config) any { return &c.Traces.Sample }},
	}
}

func (t Traces) check(found *Problems) {
	if t.Sample < 0 || t.Sample > 1000 {
		found.add("trace-sample", "--trace-sample is %d; it must be between 0 and 1000", t.Sample)
	}
	if t.Endpoint == "" {
		return
	}
	u, err := url.Parse(t.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		found.add("otlp-endpoint", "--otlp-endpoint is not a URL such as http://127.0.0.1:4318; a password goes into OTEL_EXPORTER_OTLP_HEADERS")
	}
}
