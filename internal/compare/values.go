package compare

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/internal/document"
)

// layouts are how databases and dumps write instants; those without a zone are in
// UTC.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly}

// text is a value such that two of them are the same when they mean the same:
// nothing is "", whether it is null, absent or empty; an instant is in UTC, to the
// microsecond. What is not of the type stays as it is, and differs.
func text(value any, of document.Type) string {
	raw, known := plain(value)
	if !known {
		return ""
	}
	switch of {
	case document.TypeInteger:
		if f, err := strconv.ParseFloat(raw, 64); err == nil && f == float64(int64(f)) && strings.ContainsAny(raw, ".eE") {
			return strconv.FormatInt(int64(f), 10)
		}
	case document.TypeBoolean:
		if b, err := strconv.ParseBool(strings.ToLower(raw)); err == nil {
			return strconv.FormatBool(b)
		}
	case document.TypeInstant:
		for _, layout := range layouts {
			if at, err := time.Parse(layout, raw); err == nil {
				return at.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
			}
		}
	case document.TypeList:
		var texts []string
		if err := json.Unmarshal([]byte(raw), &texts); err == nil {
			list := document.List(texts...)
			return list.Text
		}
	case document.TypeText:
	}
	return raw
}

// plain writes a value; known is false of one that is not there.
func plain(value any) (raw string, known bool) {
	switch v := value.(type) {
	case nil:
		return "", false
	case string:
		return v, true
	case []byte:
		return string(v), true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case time.Time:
		return v.Format(time.RFC3339Nano), true
	case map[string]any, []any:
		text, err := json.Marshal(v)
		return string(text), err == nil
	}
	return fmt.Sprint(value), true
}
