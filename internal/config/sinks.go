package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"sluice/internal/secret"
	"sluice/internal/sink"
)

// Sink is where documents are carried to, under a name.
type Sink struct {
	Name string
	// URL may hold a password. As it is set it may also be @FILE.
	URL string
}

// Sinks is a setting: NAME=URL, and more of them after commas. It implements
// pflag.Value.
type Sinks []Sink

// sinkBegins is where one of several begins: URLs may hold commas.
var sinkBegins = regexp.MustCompile(`(?:^|,)\s*([A-Za-z0-9_-]{1,40})=(?:@|[A-Za-z][A-Za-z0-9+.-]*:)`)

// String shows the sinks without what is secret in their URLs.
func (s *Sinks) String() string {
	if s == nil {
		return ""
	}
	shown := make([]string, len(*s))
	for i, one := range *s {
		shown[i] = one.Name + "=" + secret.MaskedURL(one.URL)
	}
	return strings.Join(shown, ",")
}

// Type names what a value is, in the help.
func (s *Sinks) Type() string { return "NAME=URL" }

// Set adds sinks; nothing removes them all.
func (s *Sinks) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		*s = nil
		return nil
	}
	begins := sinkBegins.FindAllStringSubmatchIndex(text, -1)
	if len(begins) == 0 || begins[0][0] != 0 {
		return fmt.Errorf("write NAME=URL, with a name of letters, digits, - and _, such as warehouse=postgres://user@host/database")
	}
	for i, at := range begins {
		end := len(text)
		if i+1 < len(begins) {
			end = begins[i+1][0]
		}
		*s = append(*s, Sink{Name: text[at[2]:at[3]], URL: strings.TrimSpace(text[at[3]+1 : end])})
	}
	return nil
}

// check refuses two of one name.
func (s Sinks) check(found *Problems) {
	for i, one := range s {
		if one.Name == sink.SyncName {
			found.add("sink", "--sink: %s is what `sluice sync` is called; give the sink another name", one.Name)
		}
		if slices.IndexFunc(s, func(o Sink) bool { return o.Name == one.Name }) != i {
			found.add("sink", "--sink: there are two sinks with the name %s; give each its own", one.Name)
		}
	}
}

// readSinks reads the URLs that are given as @FILE, and refuses passwords on the
// command line.
func (c *Config) readSinks(typed bool) (found Problems) {
	c.Sinks = slices.Clone(c.Sinks)
	for i := range c.Sinks {
		one := &c.Sinks[i]
		if path, file := strings.CutPrefix(one.URL, "@"); file {
			c.secretFiles = append(c.secretFiles, path)
			readFile("sink", &one.URL, &found)
			continue
		}
		if typed && HasPassword(one.URL) {
			found.add("sink", "--sink %s: a password on the command line is seen by everybody on the machine; give the URL as %s=@FILE or in %s", one.Name, one.Name, EnvName("sink"))
		}
	}
	return found
}

// ReadURL is a URL that a person typed, or what the file holds that he named as
// @FILE. A password on the command line is refused.
func ReadURL(typed string) (string, error) {
	if path, file := strings.CutPrefix(typed, "@"); file {
		text, err := os.ReadFile(path)
		return strings.TrimSpace(string(text)), err
	}
	if HasPassword(typed) {
		return "", fmt.Errorf("a password on the command line is seen by everybody on the machine; write the URL to a file and give @FILE")
	}
	return typed, nil
}

func sinks() []Setting {
	return []Setting{
		{Name: "sink", Group: "Sinks", Help: "NAME=URL: carry what is collected to a database and keep it up to date there (docs/sinks.md); may be given several times, and as NAME=@FILE", Commands: []string{"up", "sink"}, Own: true,
			field: func(c *Config) any { return &c.Sinks }},
	}
}
