package source

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Setting declares one thing that can be set about a source.
type Setting struct {
	// Name is that of the flag and of the key in the file.
	Name, Help string
	// Secret values come from a file or the environment alone, and are shown
	// nowhere. They are texts.
	Secret bool
	Use    Use
	// Default is what holds where nothing was set: a string, an int, an int64, a
	// bool or a time.Duration, which is the type of the setting.
	Default any
}

// Use is who uses a setting.
type Use uint8

// The uses.
const (
	// UseConnection: whoever speaks to the upstream, or finds out whether it can
	// be spoken to.
	UseConnection Use = iota + 1
	// UseCollection: whoever collects.
	UseCollection
	// UseHooks: a service that takes webhooks.
	UseHooks
	// UseRecords: whoever keeps records fresh, or shows them.
	UseRecords
)

// Settings is what was set about sources, by the names of the settings. What is
// not there is the zero of its type.
type Settings map[string]any // pointers to values, which flags can set

// Field returns the pointer to a setting's value, which is its default until it
// is set. The map must not be nil.
func (s Settings) Field(of Setting) any {
	field, ok := s[of.Name]
	if !ok {
		field = pointer(of.Default)
		s[of.Name] = field
	}
	return field
}

func pointer(value any) any {
	switch v := value.(type) {
	case string:
		return &v
	case int:
		return &v
	case int64:
		return &v
	case bool:
		return &v
	case time.Duration:
		return &v
	}
	panic(fmt.Sprintf("a setting cannot be a %T", value))
}

// With returns a copy in which one value is another.
func (s Settings) With(name string, value any) Settings {
	other := maps.Clone(s)
	if other == nil {
		other = Settings{}
	}
	other[name] = pointer(value)
	return other
}

// Text returns a setting that is a text.
func (s Settings) Text(name string) string { return get[string](s, name) }

// Int returns a setting that is an int.
func (s Settings) Int(name string) int { return get[int](s, name) }

// Int64 returns a setting that is an int64.
func (s Settings) Int64(name string) int64 { return get[int64](s, name) }

// Bool returns a setting that is a bool.
func (s Settings) Bool(name string) bool { return get[bool](s, name) }

// Duration returns a setting that is a duration.
func (s Settings) Duration(name string) time.Duration { return get[time.Duration](s, name) }

func get[T any](s Settings, name string) (zero T) {
	if v, ok := s[name].(*T); ok {
		return *v
	}
	return zero
}

// String shows all values by name, but for tests alone: secrets are among them.
func (s Settings) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		value := "?"
		switch v := s[name].(type) {
		case *string:
			value = *v
		case *int:
			value = fmt.Sprint(*v)
		case *int64:
			value = fmt.Sprint(*v)
		case *bool:
			value = fmt.Sprint(*v)
		case *time.Duration:
			value = v.String()
		}
		text.WriteString(name + "=" + value + " ")
	}
	return text.String()
}
