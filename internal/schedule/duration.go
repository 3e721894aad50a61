package schedule

import (
	"strings"
	"time"

	"sluice/internal/domain"
)

// Duration is a time.Duration that is written as people write it: "6h30m".
type Duration time.Duration

// For returns a pointer to a duration, as the fields of a Policy that may be
// left open want it.
func For(d time.Duration) *Duration {
	own := Duration(d)
	return &own
}

// String returns the duration without parts that are zero: "6h", "1h5m", "30s".
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "%q is not a duration; write hours, minutes and seconds such as 6h, 1h30m or 45s", text)
	}
	*d = Duration(parsed)
	return nil
}
