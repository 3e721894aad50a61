package web

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/internal/domain"
)

// figures are the metrics of this process, by name and labels as they are exposed.
type figures map[string]float64

// figures reads the metrics. They are made for being read often: what takes long to
// count is told as it was counted last.
func (v *visit) figures(ctx context.Context) (figures, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ownAddress+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	if token := tokenOf(v.r); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := v.calls.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, domain.Errorf(domain.CodeUnavailable, "there are no metrics: %s", res.Status)
	}
	found := figures{}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "} ")
		if ok {
			name += "}"
		} else {
			name, value, ok = strings.Cut(lines.Text(), " ")
		}
		if !ok || strings.HasPrefix(name, "#") || !strings.HasPrefix(name, "sluice_") {
			continue
		}
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = f
		}
	}
	return found, lines.Err()
}

// of are the values of a metric by the value of one label, without those that are
// zero where kept is false.
func (f figures) of(metric, label string) map[string]float64 {
	out := map[string]float64{}
	for name, value := range f {
		rest, ok := strings.CutPrefix(name, metric+"{")
		if !ok {
			continue
		}
		_, rest, ok = strings.Cut(","+rest, ","+label+`="`)
		if !ok {
			continue
		}
		of, _, _ := strings.Cut(rest, `"`)
		out[of] += value
	}
	return out
}

// rateMeter remembers a counter while somebody looks, to tell how fast it grows.
type rateMeter struct {
	mu      sync.Mutex
	samples []sample
}

type sample struct {
	at    time.Time
	count float64
}

const (
	// sampleLeast is how far samples are apart at least, and samplesMost how many
	// are kept.
	sampleLeast = 900 * time.Millisecond
	samplesMost = 120
	// sampleGap is the longest pause after which samples still make one curve.
	sampleGap = 30 * time.Second
)

// take adds what a counter says now, and returns its growth a second between samples.
func (m *rateMeter) take(now time.Time, count float64) []float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := len(m.samples) - 1
	switch {
	case last >= 0 && (now.Sub(m.samples[last].at) > sampleGap || count < m.samples[last].count):
		m.samples = nil
		fallthrough
	case last < 0 || now.Sub(m.samples[last].at) >= sampleLeast:
		m.samples = append(m.samples, sample{now, count})
	}
	if over := len(m.samples) - samplesMost; over > 0 {
		m.samples = m.samples[over:]
	}
	var rates []float64
	for i := 1; i < len(m.samples); i++ {
		a, b := m.samples[i-1], m.samples[i]
		rates = append(rates, (b.count-a.count)/b.at.Sub(a.at).Seconds())
	}
	return rates
}
