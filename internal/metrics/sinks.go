package metrics

import (
	"context"

	"sluice/internal/sink"
)

// Sinks tells how sinks fare; *sink.Service is one.
type Sinks interface {
	Active() bool
	List(ctx context.Context) ([]sink.Listed, error)
}

func exportSinks(e exporter, all []sink.Listed) {
	for _, one := range all {
		if one.Name == sink.SyncName {
			// Somebody waits for it, and there may be several.
			continue
		}
		failing := 0.0
		if one.Error != "" {
			failing = 1
		}
		e.gauge("sluice_sink_failing", failing, one.Name)
		e.gauge("sluice_sink_letters", float64(one.Letters), one.Name)
		if one.Known && one.State != sink.StateElsewhere {
			e.gauge("sluice_sink_behind", float64(one.Changes), one.Name)
			e.gauge("sluice_sink_behind_seconds", one.Age.Seconds(), one.Name)
		}
	}
}
