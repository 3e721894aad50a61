package airbyte

import (
	"regexp"
	"slices"
	"strings"
)

var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// fit makes a name of small letters, digits and a separator.
func fit(name, separator string, most int) string {
	var spaced strings.Builder
	before := 'A'
	for _, r := range name {
		if r >= 'A' && r <= 'Z' && before >= 'a' && before <= 'z' {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		before = r
	}
	name = strings.Trim(unfit.ReplaceAllString(strings.ToLower(spaced.String()), separator), separator)
	if name == "" || name[0] < 'a' {
		name = "x" + name
	}
	if len(name) > most {
		name = strings.Trim(name[:most], separator)
	}
	return name
}

func sourceName(name string) string {
	name = fit(strings.TrimPrefix(name, "source-"), "-", 30)
	if len(name) < 2 {
		name = "imported"
	}
	return name
}

// spec reads which values the manifest's users give.
func (im *importer) spec() {
	im.properties(im.root.dig("spec", "connection_specification"), nil, 0)
}

func (im *importer) properties(n node, path []string, depth int) {
	if depth > 5 {
		return
	}
	n.member("properties").each(func(name string, v node) {
		at := append(slices.Clone(path), name)
		flat := fit(strings.Join(at, "_"), "_", 30)
		if im.config[flat] == nil {
			im.config[flat] = &setting{}
		}
		if s := im.config[flat]; s.value == "" {
			s.value = v.member("default").text()
		}
		if v.member("airbyte_secret").text() == "true" {
			im.config[flat].secret = true
		}
		im.properties(v, at, depth+1)
		for _, one := range v.member("oneOf").items() {
			im.properties(one, at, depth+1)
		}
	})
}

// setting is the value of the config at a path.
func (im *importer) setting(path []string) (string, *setting) {
	flat := fit(strings.Join(path, "_"), "_", 30)
	if im.config[flat] == nil {
		im.config[flat] = &setting{}
	}
	return flat, im.config[flat]
}

// missing are the values that are used and have no default.
func (im *importer) missing() []string {
	var all []string
	for name, s := range im.config {
		if s.used && s.value == "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
