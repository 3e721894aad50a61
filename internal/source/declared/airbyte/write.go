package airbyte

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// noRation stands where a ration is to be stated: a file with it is refused.
const noRation = "ration: {} #"

// object is a map of YAML whose keys keep their order.
type object struct {
	keys   []string
	values map[string]any
	flow   bool
}

func newObject() *object { return &object{values: map[string]any{}} }

func flow() *object { return &object{values: map[string]any{}, flow: true} }

// set puts a value under a key; what is empty is left out.
func (o *object) set(name string, v any) *object {
	switch v := v.(type) {
	case string:
		if v == "" {
			return o
		}
	case *object:
		if v == nil || len(v.keys) == 0 {
			return o
		}
	case []any:
		if len(v) == 0 {
			return o
		}
	}
	return o.put(name, v)
}

// put puts any value under a key.
func (o *object) put(name string, v any) *object {
	if _, ok := o.values[name]; !ok {
		o.keys = append(o.keys, name)
	}
	o.values[name] = v
	return o
}

func (o *object) get(name string) any { return o.values[name] }

func (o *object) remove(name string) {
	delete(o.values, name)
	o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == name })
}

func toYAML(v any) *yaml.Node {
	switch v := v.(type) {
	case *object:
		n := &yaml.Node{Kind: yaml.MappingNode}
		if v.flow {
			n.Style = yaml.FlowStyle
		}
		for _, name := range v.keys {
			n.Content = append(n.Content, toYAML(name), toYAML(v.values[name]))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, one := range v {
			n.Content = append(n.Content, toYAML(one))
			if _, ok := one.(*object); ok {
				n.Style = 0
			}
		}
		return n
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}
	}
	n := &yaml.Node{}
	n.SetString(fmt.Sprint(v))
	return n
}

// file writes the source.
func (im *importer) file() (string, error) {
	top := newObject().set("source", im.source)
	config := newObject()
	im.use()
	for _, name := range slices.Sorted(maps.Keys(im.config)) {
		if im.config[name].used {
			config.put(name, im.config[name].value)
		}
	}
	im.result.Set = im.missing()
	top.set("config", config).put("base", im.base())
	im.streams[0].auth.write(top)
	headers := newObject()
	for _, s := range im.streams {
		for _, name := range s.headers.keys {
			headers.put(name, s.headers.get(name))
		}
	}
	top.set("headers", headers)
	rations := im.rations()
	im.result.Rationed = len(rations.keys) > 0
	top.put("ration", rations)
	top.set("park", im.park).set("answers", im.answers())
	streams := newObject()
	for _, s := range im.streams {
		streams.put(s.name, s.write())
	}
	top.put("streams", streams)
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Translated from a manifest of Airbyte, which is not part of this file. Check it, and try it out.\n")
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(toYAML(top)); err != nil {
		return "", err
	}
	if im.result.Rationed {
		return out.String(), nil
	}
	ask := noRation + " TO STATE: what the upstream grants, such as {all: {per: key, calls: 60, every: 1m, shape: sliding}};\n" +
		"# its documentation or `sluice source probe` tells it. `ration: unknown` asks one call a second."
	return string(bytes.Replace(out.Bytes(), []byte("ration: {}"), []byte(ask), 1)), nil
}

// use finds out which values the file speaks of.
func (im *importer) use() {
	for _, s := range im.config {
		s.used = false
	}
	look := func(text string) {
		for _, m := range configNames.FindAllStringSubmatch(text, -1) {
			if s := im.config[m[1]]; s != nil {
				s.used = true
			}
		}
	}
	look(im.base())
	for _, s := range im.streams {
		texts(s.headers, look)
		if s.auth.oauth != nil {
			texts(s.auth.oauth, look)
		}
		texts(s.write(), look)
	}
}

var configNames = regexp.MustCompile(`\bconfig\.([a-z0-9_]+)`)

func texts(v any, fn func(string)) {
	switch v := v.(type) {
	case string:
		fn(v)
	case *object:
		for _, name := range v.keys {
			texts(v.values[name], fn)
		}
	case []any:
		for _, one := range v {
			texts(one, fn)
		}
	}
}

// base is what addresses of all streams begin with: as much as they share.
func (im *importer) base() string {
	base, same := "", true
	for _, s := range im.streams {
		if s.host == "" {
			continue
		}
		if base == "" {
			base = s.base
		}
		same = same && s.base == base
	}
	if same {
		return base
	}
	return hostOf(base)
}
