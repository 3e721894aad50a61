package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/domain"
)

// descriptions are what Prometheus is told of each declared metric.
type descriptions map[string]*prometheus.Desc

func describeAll() descriptions {
	out := descriptions{}
	for name, m := range byName() {
		out[name] = prometheus.NewDesc(name, m.Help, m.Labels, nil)
	}
	return out
}

// exporter sends metrics to a scrape.
type exporter struct {
	out   chan<- prometheus.Metric
	descs descriptions
}

// counter exports a count; the values are those of the metric's labels.
func (e exporter) counter(name string, value int64, labels ...string) {
	e.send(prometheus.CounterValue, name, float64(value), labels)
}

func (e exporter) gauge(name string, value float64, labels ...string) {
	e.send(prometheus.GaugeValue, name, value, labels)
}

func (e exporter) send(kind prometheus.ValueType, name string, value float64, labels []string) {
	desc := e.descs[name]
	if desc == nil {
		e.fail(domain.Errorf(domain.CodeInternal, "the metric %s is not declared", name))
		return
	}
	metric, err := prometheus.NewConstMetric(desc, kind, value, labels...)
	if err != nil {
		e.fail(err)
		return
	}
	e.out <- metric
}

// fail reports what could not be exported.
func (e exporter) fail(err error) {
	e.out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
}
