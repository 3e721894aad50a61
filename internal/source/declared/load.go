package declared

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"sluice/internal/ration"
)

// loader reads a file and gathers what is wrong with it.
type loader struct {
	mistakes Mistakes
	file     *File
	// misshapen are the places that are not as the schema says, those included where
	// something is missing; noted are the same once all of them are known.
	misshapen, noted []string
}

// follows says whether a place is wrong already, or something within it: what it means
// cannot be said then.
func (l *loader) follows(path string) bool {
	path = strings.Trim(path, ".")
	return slices.ContainsFunc(l.noted, func(at string) bool {
		return at == path || strings.HasPrefix(at, path+".") || strings.HasPrefix(at, path+"[")
	})
}

// mostFile is how long a file may be.
const mostFile = 256 << 10

// Load reads a file. Every mistake is told, with its line and a remedy; a file with
// any is not returned.
func Load(source []byte) (*File, Mistakes) {
	l := &loader{file: &File{}}
	if len(source) > mostFile {
		l.mistakes.add(1, "", "a source is a file of some lines", "it has more than %d bytes", mostFile)
		return nil, l.mistakes
	}
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		line, text := yamlWrong(err, source)
		l.mistakes.add(line, "", "mend the YAML", "%s", text)
		return nil, l.mistakes
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		l.mistakes.add(max(second.Line, 1), "", "write it into a file of its own, without ---", "a second document follows, which would be ignored")
	}
	if len(document.Content) != 1 || resolve(document.Content[0]).Kind != yaml.MappingNode {
		l.mistakes.add(1, "", "begin with source: NAME", "it does not describe a source")
		return nil, l.mistakes
	}
	root := node{resolve(document.Content[0]), "", l}
	if tooManyAliases(&document, new(int)) {
		l.mistakes.add(1, "", "write it out", "it repeats itself by anchors too often")
		return nil, l.mistakes
	}
	root.compare(schema(), 0)
	l.noted = append([]string{}, l.misshapen...)
	l.read(root)
	l.mistakes.sort()
	if len(l.mistakes) > 0 {
		return nil, l.mistakes
	}
	return l.file, nil
}

var lineOfYAML = regexp.MustCompile(`^line (\d+): `)

// yamlWrong is where a file is no YAML, and why. The reader tells no line of characters
// that it does not take.
func yamlWrong(err error, source []byte) (line int, text string) {
	text = strings.TrimPrefix(firstLine(err), "yaml: ")
	if m := lineOfYAML.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		return max(line, 1), strings.TrimPrefix(text, m[0])
	}
	for at := 0; at < len(source); {
		r, size := utf8.DecodeRune(source[at:])
		if r == utf8.RuneError && size == 1 || r < ' ' && !strings.ContainsRune("\t\r\n", r) || r == 0x7f {
			return 1 + bytes.Count(source[:at], []byte("\n")), text
		}
		at += size
	}
	return 1, text
}

// tooManyAliases counts what a file is once its aliases are written out.
func tooManyAliases(n *yaml.Node, seen *int) bool {
	if *seen++; *seen > 20_000 {
		return true
	}
	if n.Kind == yaml.AliasNode {
		return tooManyAliases(n.Alias, seen)
	}
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return tooManyAliases(c, seen) })
}

var (
	sourceNames = regexp.MustCompile(`^[a-z][a-z0-9-]{1,30}$`)
	streamNames = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)
)

func identifier(name string) string { return strings.ReplaceAll(name, "-", "_") }

// taken are names that expressions have for other things.
var taken = []string{"config", "target", "record", "cursor", "answer", "headers", "status", "error", "key", "true", "false", "nil", "not", "and", "or", "in", "let", "if", "else"}

func (l *loader) read(root node) {
	f := l.file
	f.Name, f.Title, f.Doc, f.Target = root.get("source").text(), root.get("title").text(), root.get("doc").text(), root.get("target").text()
	if !sourceNames.MatchString(f.Name) {
		root.get("source").wrong("give a name of small letters, digits and hyphens, such as my-api", "%q cannot be a name", f.Name)
	}
	if f.Title == "" {
		f.Title = f.Name
	}
	if f.Target == "" {
		f.Target = "account"
	}
	f.Config = map[string]string{}
	root.get("config").each(func(name string, value node) {
		if !streamNames.MatchString(name) {
			value.wrong("give a name of small letters, digits and underscores", "%q cannot be a name", name)
		}
		f.Config[name] = value.text()
	})
	known := l.names()
	f.base = l.template(root.get("base"), names{"config": known["config"], "target": known["target"]})
	l.baseAddress(root.get("base"))
	l.auths(root.get("auth"))
	if o := root.get("owner"); o.is() {
		f.owner = &owner{url: l.address(o.get("get"), known), id: l.path(o.get("id"))}
	}
	root.get("headers").each(func(name string, value node) {
		f.headers = append(f.headers, pair{name, l.header(name, value, known)})
	})
	l.rations(root.get("ration"))
	l.park(root.get("park"))
	f.wrong = l.path(root.get("error"))
	for _, one := range root.get("answers").items() {
		l.rule(one)
	}
	switch records, streams := root.get("records"), root.get("streams"); {
	case records.is():
		recordLoader{l}.records(root)
	case streams.is():
		l.streams(streams)
	default:
		root.wrong("add streams: what is collected, by name; or records: what is kept fresh by key", "the key \"streams\" is missing")
	}
	for _, one := range root.get("answers").items() {
		senseOfRule(one, root.get("records").is())
	}
	if t := root.get("tiers"); t.is() && !root.get("records").is() {
		t.wrong("leave it out", "only records have tiers")
	}
}

// senseOfRule refuses what a rule cannot do for streams, or for records.
func senseOfRule(n node, records bool) {
	do, what := n.get("do").text(), n.get("what")
	switch {
	case records && (do == "skip" || do == "gone" || do == "stop"):
		n.get("do").wrong("give fail", "%s is about pages, and a record has none", do)
	case !records && do == "renew":
		n.get("do").wrong("give retry", "only records need what is kept of others")
	case !records && what.is():
		what.wrong("leave it out; park.what says who waits", "it is about records alone")
	case what.text() == "key" && do != "wait":
		what.wrong("leave it out", "only wait can be about one key")
	}
}

// names are what every expression may speak of.
func (l *loader) names() names {
	config := fixedNames{}
	for name := range l.file.Config {
		config[name] = ""
	}
	return names{"config": config, "target": ""}
}

func (l *loader) template(n node, known names) *template {
	if !n.is() {
		return nil
	}
	t, err := parseTemplate(n.text(), known)
	if err != nil {
		n.wrong("there are "+strings.Join(knownNames(known), ", "), "%v", err)
	}
	return t
}

func (l *loader) condition(n node, known names) *expression {
	if !n.is() {
		return nil
	}
	e, err := compile(n.text(), known)
	if err != nil {
		n.wrong("there are "+strings.Join(knownNames(known), ", "), "%v", err)
	} else if !e.mayHold() {
		n.wrong("compare it with something, as record.state == \"open\" does", "the expression {%s} is neither true nor false", n.text())
	}
	return e
}

func knownNames(of names) []string {
	var all []string
	for name := range of {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func (l *loader) path(n node) string {
	if wrong := checkPath(n.text()); wrong != "" {
		n.wrong("give a path such as data.items", "%s", wrong)
	}
	return n.text()
}

var headerNames = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func headerName(name string) bool { return headerNames.MatchString(name) }

func (l *loader) rule(n node) {
	known := l.names().with(names{"status": 0, "error": "", "answer": map[string]any{}, "headers": map[string]string{}})
	r := rule{holds: l.condition(n.get("if"), known), do: n.get("do").text(), wait: n.get("for").duration(), say: n.get("say").text(), what: n.get("what").text()}
	if r.wait > 0 && r.do != "wait" && r.do != "retry" {
		n.wrong("leave out for", "only wait and retry last for a while")
	}
	l.file.rules = append(l.file.rules, r)
}

func (l *loader) park(n node) {
	p := ration.DefaultPark()
	if n.is() {
		p.On, p.Else = n.get("on").ints(), n.get("else").duration()
		if f := n.get("for"); f.scalar() {
			p.For = ration.Field{Header: f.text()}
		} else if f.is() {
			p.For = ration.Field{Header: f.get("header").text(), Body: l.path(f.get("body")), As: ration.Form(f.get("as").text())}
		}
		if after := n.get("after"); after.is() {
			p.After = ration.Field{Header: after.get("header").text(), Body: l.path(after.get("body")), As: ration.Form(after.get("as").text())}
		}
		if what := n.get("what"); what.is() {
			p.What = ration.Who(what.text())
		}
	}
	if err := p.Check(); err != nil {
		n.wrong("", "%v", err)
	}
	l.file.Park = p
}
