// Package airbyte translates a low-code manifest of Airbyte into a file of a declared
// source, and says line by line what it cannot say, or only approximately. It reads
// the manifest that a user brings and calls nobody.
package airbyte

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"sluice/internal/domain"
	"sluice/internal/source/declared"
)

// mostManifest is how long a manifest may be.
const mostManifest = 8 << 20

// Remark is something that the import could not say, or only approximately.
type Remark struct {
	// Line is the manifest's.
	Line   int    `json:"line"`
	Stream string `json:"stream,omitempty"`
	Text   string `json:"text"`
	// Left says that the stream is left out because of it.
	Left bool `json:"left,omitempty"`
}

// String is a line for people.
func (r Remark) String() string {
	text := r.Text
	if r.Left {
		text = "left out: " + text
	}
	if r.Stream != "" {
		text = "stream " + r.Stream + ": " + text
	}
	return fmt.Sprintf("line %d: %s", r.Line, text)
}

// Result is what a manifest comes to.
type Result struct {
	// File is a source in YAML.
	File    string   `json:"file"`
	Remarks []Remark `json:"remarks"`
	// Streams is how many the manifest has, Missing how many of them are left out, and
	// Imported how many the file has: parents that the manifest does not list count as
	// well, and each of those that one is split into.
	Streams  int `json:"streams"`
	Missing  int `json:"missing"`
	Imported int `json:"imported"`
	// Set are values that have no default and are to be given by --set.
	Set []string `json:"set,omitempty"`
	// Rationed says whether the manifest states what the upstream grants.
	Rationed bool `json:"rationed"`
}

// Import translates a manifest. The name is the source's, "" to take the manifest's.
// A manifest of which no stream can be told is an error.
func Import(name string, manifest []byte) (*Result, error) {
	if len(manifest) > mostManifest {
		return nil, domain.Errorf(domain.CodeInvalid, "the manifest has more than %d bytes; a manifest is smaller", mostManifest)
	}
	var parsed yaml.Node
	if err := yaml.Unmarshal(manifest, &parsed); err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the manifest is not YAML: %s; mend it", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(parsed.Content) != 1 || parsed.Content[0].Kind != yaml.MappingNode {
		return nil, domain.Errorf(domain.CodeInvalid, "this is not a manifest of Airbyte: it does not begin with keys such as version and streams")
	}
	doc := &document{root: parsed.Content[0], broken: map[int]string{}}
	im := &importer{
		root: node{doc: doc, yaml: doc.root}, config: map[string]*setting{}, known: map[string]*stream{}, names: map[string]bool{},
		result: &Result{Remarks: []Remark{}},
	}
	im.source = sourceName(name)
	im.read()
	if err := im.finish(); err != nil {
		return nil, err
	}
	return im.result, nil
}

// importer translates one manifest.
type importer struct {
	root    node
	source  string
	config  map[string]*setting
	streams []*stream
	// known are the streams by their names in the manifest, names what is taken.
	known map[string]*stream
	names map[string]bool
	// listed are the names of the manifest's own streams.
	listed []string
	rules  []rule
	park   *object
	result *Result
}

// setting is a value of the config.
type setting struct {
	value string
	// used says that an expression speaks of it.
	used, secret bool
}

func (im *importer) remark(line int, stream, format string, args ...any) {
	r := Remark{Line: line, Stream: stream, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(im.result.Remarks, r) {
		im.result.Remarks = append(im.result.Remarks, r)
	}
}

// left remarks that a stream is left out.
func (im *importer) left(line int, stream, format string, args ...any) {
	im.result.Remarks = append(im.result.Remarks, Remark{Line: line, Stream: stream, Text: fmt.Sprintf(format, args...), Left: true})
}

func (im *importer) read() {
	im.spec()
	if n := im.root.member("dynamic_streams"); n.is() {
		im.remark(n.line(), "", "streams that are made up at run time (dynamic_streams) cannot be told in a file")
	}
	all := im.root.member("streams").items()
	im.result.Streams = len(all)
	for _, n := range all {
		im.listed = append(im.listed, n.get("name").text())
		if n.kind() == "StateDelegatingStream" {
			im.remark(n.line(), n.get("name").text(), "of its two ways the one for everything is taken in every run")
			n = n.member("full_refresh_stream")
		}
		if _, err := im.stream(n); err != nil {
			im.leave(n, err)
		}
	}
}

func (im *importer) leave(n node, err error) {
	line := n.line()
	var at *lineError
	if asLine(err, &at) && at.line > 0 {
		line = at.line
	}
	im.left(line, n.get("name").text(), "%s", err)
}

// finish agrees on what holds for the file as a whole and leaves out streams until
// what remains can be collected.
func (im *importer) finish() error {
	if len(im.streams) > 0 {
		im.agree("credential", func(s *stream) string { return s.auth.key() })
		im.agree("host", func(s *stream) string { return s.host })
		im.headers()
	}
	file, err := im.settle()
	for line, text := range im.root.doc.broken {
		im.remark(line, "", "%s", text)
	}
	slices.SortStableFunc(im.result.Remarks, func(a, b Remark) int { return cmp.Compare(a.Line, b.Line) })
	if err != nil {
		return err
	}
	im.result.File, im.result.Imported = file, len(im.streams)
	have := map[string]bool{}
	for _, s := range im.streams {
		have[s.called] = true
	}
	for _, called := range im.listed {
		if !have[called] {
			im.result.Missing++
		}
	}
	return nil
}

// settle writes the file and lets it be checked; what is wrong is left out.
func (im *importer) settle() (string, error) {
	for range 10 + 2*len(im.streams) {
		im.orphans()
		if len(im.streams) == 0 {
			return "", im.nothing()
		}
		text, err := im.file()
		if err != nil {
			return "", err
		}
		_, mistakes := declared.Load([]byte(strings.Replace(text, noRation, "ration: unknown #", 1)))
		if len(mistakes) == 0 {
			return text, nil
		}
		dropped := false
		for _, m := range mistakes {
			dropped = im.drop(m) || dropped
		}
		if !dropped {
			return "", domain.Errorf(domain.CodeInvalid, "no file can be made of this manifest: %s", mistakes[0].Text)
		}
	}
	return "", im.nothing()
}

func (im *importer) nothing() error {
	var why []string
	for _, r := range im.result.Remarks {
		if len(why) < 5 {
			why = append(why, r.String())
		}
	}
	if len(why) == 0 {
		why = []string{"it has none"}
	}
	return domain.Errorf(domain.CodeInvalid, "none of the manifest's %d streams can be told in a file:\n  %s", im.result.Streams, strings.Join(why, "\n  "))
}

// drop leaves out what a mistake is about, and says whether that is possible.
func (im *importer) drop(m declared.Mistake) bool {
	pieces := strings.Split(m.Path, ".")
	if pieces[0] == "answers" || strings.HasPrefix(m.Path, "answers[") {
		had := len(im.rules) > 0
		im.rules = nil
		return had
	}
	if len(pieces) < 2 || pieces[0] != "streams" {
		return false
	}
	for i, s := range im.streams {
		if s.name == pieces[1] {
			im.left(s.node.line(), s.called, "%s: %s", strings.Join(pieces[2:], "."), m.Text)
			im.streams = slices.Delete(im.streams, i, i+1)
			return true
		}
	}
	return false
}

// orphans leaves out streams of streams that are left out.
func (im *importer) orphans() {
	for {
		i := slices.IndexFunc(im.streams, func(s *stream) bool { return s.of != nil && !slices.Contains(im.streams, s.of) })
		if i < 0 {
			return
		}
		s := im.streams[i]
		im.left(s.node.line(), s.called, "it is asked for each record of %s, which is left out", s.of.called)
		im.streams = slices.Delete(im.streams, i, i+1)
	}
}

// agree leaves out streams that differ from most in what a file says once.
func (im *importer) agree(what string, key func(*stream) string) {
	count := map[string]int{}
	best := key(im.streams[0])
	for _, s := range im.streams {
		if k := key(s); k != "" {
			if count[k]++; count[k] > count[best] || best == "" {
				best = k
			}
		}
	}
	im.streams = slices.DeleteFunc(im.streams, func(s *stream) bool {
		if k := key(s); k == best || k == "" {
			return false
		}
		im.left(s.node.line(), s.called, "it has another %s than most streams (%s), and a file has one; import it into a file of its own", what, shorten(best))
		return true
	})
}

// headers are a file's, not a stream's.
func (im *importer) headers() {
	all := map[string]string{}
	im.streams = slices.DeleteFunc(im.streams, func(s *stream) bool {
		for _, name := range s.headers.keys {
			value, _ := s.headers.get(name).(string)
			if old, ok := all[name]; ok && old != value {
				im.left(s.node.line(), s.called, "its header %s differs from that of other streams, and a file has one", name)
				return true
			}
			all[name] = value
		}
		return false
	})
}

func asLine(err error, to **lineError) bool {
	l, ok := err.(*lineError) //nolint:errorlint // made here, and never wrapped
	*to = l
	return ok
}

// lineError is why a stream cannot be told, with the line of the manifest.
type lineError struct {
	line int
	text string
}

// Error implements error.
func (e *lineError) Error() string { return e.text }

func cannot(n node, format string, args ...any) error {
	return &lineError{n.line(), fmt.Sprintf(format, args...)}
}
