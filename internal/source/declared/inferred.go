package declared

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// A stream without columns in its file gets those that its first records show. They are
// kept beside the documents and are fixed from then on: a value of another type is null,
// and counted; a new field makes no column.

var _ source.Inferring = (*Source)(nil)

// Inference is what is kept of a stream's columns.
type Inference struct {
	Columns []InferredColumn `json:"columns"`
	// Misfits counts the values that were of another type, by column.
	Misfits map[string]int64 `json:"misfits,omitempty"`
}

// InferredColumn is one column.
type InferredColumn struct {
	Name string        `json:"name"`
	At   string        `json:"at"`
	Type document.Type `json:"type"`
}

// Uninferred implements source.Inferring.
func (s *Source) Uninferred() (kinds []document.Kind) {
	for _, stream := range s.file.Streams {
		if !stream.declares && stream.misfits == nil {
			kinds = append(kinds, s.file.Kind(stream))
		}
	}
	return kinds
}

func (s *Source) streamOf(kind document.Kind) *Stream {
	i := slices.IndexFunc(s.file.Streams, func(stream *Stream) bool { return s.file.Kind(stream) == kind })
	if i < 0 {
		return nil
	}
	return s.file.Streams[i]
}

// Infer implements source.Inferring.
func (s *Source) Infer(kind document.Kind, payloads [][]byte, taken map[string]document.Type) []byte {
	stream := s.streamOf(kind)
	if stream == nil || len(payloads) == 0 {
		return nil
	}
	records := make([]gjson.Result, len(payloads))
	for i, raw := range payloads {
		records[i] = gjson.ParseBytes(raw)
	}
	found := Inference{Columns: []InferredColumn{}}
	for _, c := range stream.infer(records) {
		if other, met := taken[c.name]; met && other != c.typ {
			// Values of one name lie in one place, which holds one type.
			c.name += "_" + string(c.typ)
			if other, met := taken[c.name]; met && other != c.typ || !columnNames.MatchString(c.name) {
				continue
			}
		}
		found.Columns = append(found.Columns, InferredColumn{c.name, c.at, c.typ})
	}
	text, err := json.Marshal(found)
	if err != nil {
		return nil
	}
	return text
}

// Adopt implements source.Inferring.
func (s *Source) Adopt(kind document.Kind, columns []byte, taken map[string]document.Type) error {
	stream := s.streamOf(kind)
	if stream == nil || stream.declares {
		return nil
	}
	kept, err := ReadInference(columns)
	if err != nil {
		return domain.Errorf(domain.CodeInternal, "the columns that were inferred of %s cannot be read: %w", kind, err)
	}
	stream.columns, stream.misfits, stream.inferred = nil, map[string]*atomic.Int64{}, kept.Columns
	for _, c := range kept.Columns {
		other, met := taken[c.Name]
		if columnNames.MatchString(c.Name) && !contains(ownColumns, c.Name) && (!met || other == c.Type) {
			stream.columns = append(stream.columns, column{name: c.Name, at: c.At, typ: c.Type, doc: c.At + ", as its first records have it"})
			stream.misfits[c.Name] = &atomic.Int64{}
			stream.misfits[c.Name].Store(kept.Misfits[c.Name])
		}
	}
	return nil
}

// Types implements source.Inferring.
func (s *Source) Types(columns []byte) (all []document.Column) {
	kept, _ := ReadInference(columns)
	for _, c := range kept.Columns {
		all = append(all, document.Column{Name: c.Name, Type: c.Type})
	}
	return all
}

// ReadInference reads what is kept of a stream's columns.
func ReadInference(text []byte) (kept Inference, err error) {
	err = json.Unmarshal(text, &kept)
	return kept, err
}

// Inferred implements source.Inferring.
func (s *Source) Inferred() map[document.Kind][]byte {
	all := map[document.Kind][]byte{}
	for _, stream := range s.file.Streams {
		if stream.misfits == nil {
			continue
		}
		kept := Inference{Columns: stream.inferred, Misfits: map[string]int64{}}
		for name, count := range stream.misfits {
			if n := count.Load(); n > 0 {
				kept.Misfits[name] = n
			}
		}
		if text, err := json.Marshal(kept); err == nil {
			all[s.file.Kind(stream)] = text
		}
	}
	return all
}

// misfit counts a value that is not of its column's type.
func (s *Stream) misfit(c *column, v gjson.Result) {
	if s.misfits == nil {
		return
	}
	if found := at(v, c.at); found.Exists() && found.Type != gjson.Null {
		s.misfits[c.name].Add(1)
	}
}

// fits says whether a value is of the type that was inferred; what a file declares is
// read as far as it can be.
func (s *Stream) fits(c *column, v gjson.Result) bool {
	if s.misfits == nil || c.typ != document.TypeBoolean && c.typ != document.TypeInteger {
		return true
	}
	return typeOf(at(v, c.at)) == c.typ
}

// Lines are the columns as a file has them, with what did not fit.
func (i Inference) Lines() []string {
	columns := make([]column, len(i.Columns))
	for k, c := range i.Columns {
		columns[k] = column{name: c.Name, at: c.At, typ: c.Type}
	}
	lines := columnLines(columns)
	for _, name := range slices.Sorted(maps.Keys(i.Misfits)) {
		lines = append(lines, fmt.Sprintf("  # %s: %d values were of another type, and are null", name, i.Misfits[name]))
	}
	return lines
}

// Shown is the text of a file with the columns that were inferred of it, as comments at
// its end that can be put in.
func Shown(text []byte, inferred map[string]Inference) []byte {
	if len(inferred) == 0 {
		return text
	}
	var more strings.Builder
	more.WriteString("\n# Inferred from the first records, and fixed since. To change them put them into their streams:\n")
	for _, name := range slices.Sorted(maps.Keys(inferred)) {
		more.WriteString("#   " + name + ":\n")
		for _, line := range inferred[name].Lines() {
			more.WriteString("#     " + line + "\n")
		}
	}
	return append(slices.Clip(text), more.String()...)
}
