package export

import (
	"slices"
	"strings"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// Kind is what is exported: a kind of documents, by the name of its table, or the
// statistics.
type Kind string

// KindStatistics is a row for each account that has statistics.
const KindStatistics Kind = "statistics"

// Kinds lists the names of all kinds, where such documents are declared.
func Kinds(declared document.Kinds) []string {
	return append(declared.Tables(), string(KindStatistics))
}

// ParseKind reads a kind that a person typed.
func ParseKind(s string, declared document.Kinds) (Kind, error) {
	kinds := Kinds(declared)
	if slices.Contains(kinds, s) {
		return Kind(s), nil
	}
	return "", domain.Errorf(domain.CodeInvalid, "%q is not a kind; use one of %s", s, strings.Join(kinds, ", "))
}

// Format is how rows are written.
type Format string

// The formats.
const (
	// FormatJSONL is one JSON object per line, with every column, null where
	// there is no value.
	FormatJSONL Format = "jsonl"
	// FormatCSV is RFC 4180 with a header line; no value is an empty field.
	// Values are exact: nothing is done to those that a spreadsheet would take
	// for a formula.
	FormatCSV Format = "csv"
	// FormatParquet is Parquet with zstd.
	FormatParquet Format = "parquet"
)

// Formats lists the names of all formats.
func Formats() []string { return names(FormatJSONL, FormatCSV, FormatParquet) }

// ParseFormat reads a format that a person typed.
func ParseFormat(s string) (Format, error) {
	if slices.Contains(Formats(), s) {
		return Format(s), nil
	}
	return "", domain.Errorf(domain.CodeInvalid, "%q is not a format; use one of %s", s, strings.Join(Formats(), ", "))
}

// MediaType is what HTTP calls the format.
func (f Format) MediaType() string {
	switch f {
	case FormatCSV:
		return "text/csv; charset=utf-8; header=present"
	case FormatParquet:
		return "application/vnd.apache.parquet"
	}
	return "application/jsonl; charset=utf-8"
}

func names[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// ParseInstant reads a bound that a person typed: RFC 3339, or a day, which is
// its first instant in UTC. Nothing is the zero time.
func ParseInstant(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, domain.Errorf(domain.CodeInvalid, "%q is not a time; write 2006-01-02 or 2006-01-02T15:04:05Z", s)
}
