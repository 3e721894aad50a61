package airbyte

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// stream is one that is translated.
type stream struct {
	im   *importer
	node node
	// called is its name in the manifest, name that in the file, and wanted what that
	// should be if it is another one.
	called, name, wanted string
	of                   *stream
	// bound is what fields of a partition stand for.
	bound map[string]value

	auth       auth
	host, base string
	path       string
	post       bool
	headers    *object
	query      *object
	body       *object
	page       *object
	records    string
	key        []any
	version    string
	cursor     *object
	// window is how long slices of time are, if the request tells the end of one.
	window string
	// since says that {cursor} can be asked for.
	since  bool
	where  string
	add    *object
	remove []any
	busy   bool
}

// taken are names that a stream cannot have.
var taken = []string{"config", "target", "record", "cursor", "answer", "headers", "status", "error", "key", "true", "false", "nil", "not", "and", "or", "in", "let", "if", "else"}

func (im *importer) free(name string) string {
	name = fit(name, "_", 28)
	if slices.Contains(taken, name) {
		name += "_all"
	}
	free := name
	for i := 2; im.names[free]; i++ {
		free = name + "_" + strconv.Itoa(i)
	}
	im.names[free] = true
	return free
}

// stream translates one, unless it is there already. One that is asked for a list of
// values becomes one for each of them.
func (im *importer) stream(n node) (*stream, error) {
	called := n.get("name").text()
	if kind := n.kind(); kind != "" && kind != "DeclarativeStream" {
		return nil, cannot(n, "there is nothing like %s", shorten(kind))
	}
	if called == "" || !n.mapping() {
		return nil, cannot(n, "it has no name")
	}
	if s := im.known[called]; s != nil {
		if s.busy {
			return nil, cannot(n, "it is its own parent")
		}
		return s, nil
	}
	routers := n.member("retriever").member("partition_router").items()
	if len(routers) == 1 && routers[0].kind() == "ListPartitionRouter" {
		return nil, im.forEach(n, called, routers[0])
	}
	s := im.begin(n, called)
	im.known[called] = s
	s.busy = true
	err := s.translate(routers)
	s.busy = false
	if err != nil {
		delete(im.known, called)
		return nil, err
	}
	im.streams = append(im.streams, s)
	return s, nil
}

func (im *importer) begin(n node, called string) *stream {
	return &stream{im: im, node: n, called: called, bound: map[string]value{}, headers: newObject(), query: newObject(), body: newObject(), add: newObject()}
}

// mostListed is how many streams one may become.
const mostListed = 12

func (im *importer) forEach(n node, called string, router node) error {
	values := router.get("values")
	field := router.get("cursor_field").text()
	var all []value
	if values.list() {
		for _, v := range values.items() {
			all = append(all, literal(v.text()))
		}
	} else {
		v, err := im.begin(n, called).expression(values)
		if err != nil {
			return cannot(values, "it is asked once for each of a list that is made up: %s", err)
		}
		im.remark(values.line(), called, "it is asked once for each of a list; here the value is one, and a file for each is needed")
		all = []value{v}
	}
	if len(all) > mostListed {
		return cannot(values, "it is asked once for each of %d values; more than %d streams are not made of one", len(all), mostListed)
	}
	var names []string
	for _, v := range all {
		s := im.begin(n, called)
		if v.literal != nil && len(all) > 1 {
			s.wanted = fit(called, "_", 18) + "_" + fit(*v.literal, "_", 9)
		}
		s.bound[field] = v
		if err := s.inject(router.get("request_option"), v); err != nil {
			return err
		}
		if err := s.translate(nil); err != nil {
			return err
		}
		im.streams, names = append(im.streams, s), append(names, s.name)
	}
	if len(all) > 1 {
		im.remark(router.line(), called, "it is asked once for each of a list of values: one stream for each, %s", strings.Join(names, ", "))
	}
	return nil
}

func (s *stream) translate(routers []node) error {
	r := s.node.member("retriever")
	if kind := r.kind(); kind != "SimpleRetriever" && kind != "" || !r.mapping() {
		return cannot(r, "there is nothing like %s", shorten(cmpOr(kind, "a stream without a retriever")))
	}
	for _, step := range []func() error{
		func() error { return s.partition(routers) },
		func() error { s.incremental(s.node.get("incremental_sync")); return nil },
		func() error { return s.request(r) },
		func() error { return s.selection(r.get("record_selector")) },
		func() error { return s.pages(r.get("paginator")) },
		func() error { s.transform(s.node.get("transformations")); return nil },
		s.keys,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if s.wanted != "" {
		s.name = s.im.free(s.wanted)
	} else if s.name = s.im.free(s.called); s.name != s.called {
		s.im.remark(s.node.line(), s.called, "it is called %s here", s.name)
	}
	return nil
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// partition finds the stream that this one is asked for each record of.
func (s *stream) partition(routers []node) error {
	if len(routers) == 0 {
		return nil
	}
	if len(routers) > 1 {
		return cannot(routers[0], "it is asked for each pair of two lists, and a stream has one parent")
	}
	router := routers[0]
	parents := router.get("parent_stream_configs").items()
	if router.kind() != "SubstreamPartitionRouter" || len(parents) == 0 {
		return cannot(router, "there is nothing like %s", shorten(cmpOr(router.kind(), "a partition without parents")))
	}
	if len(parents) > 1 {
		return cannot(router, "it has %d parents, and a stream has one", len(parents))
	}
	p := parents[0]
	known := s.im.known[p.member("stream").get("name").text()]
	parent, err := s.im.stream(p.member("stream"))
	switch {
	case err != nil:
		return cannot(p, "its parent %s cannot be told: %s", p.member("stream").get("name").text(), err)
	case parent == nil:
		return cannot(p, "its parent is asked for each of a list of values, and that is several streams here")
	case known == nil && !s.im.listedAtTop(parent.called):
		s.im.remark(p.line(), s.called, "its parent %s is collected as a stream of its own", parent.called)
	}
	s.of = parent
	path := strings.FieldsFunc(p.get("parent_key").text(), func(r rune) bool { return r == '/' || r == '.' })
	of := value{text: dotted(parent.name, path), root: "record"}
	s.bound[p.get("partition_field").text()] = of
	return s.inject(p.get("request_option"), of)
}

func (im *importer) listedAtTop(called string) bool {
	return slices.ContainsFunc(im.root.member("streams").items(), func(n node) bool { return n.get("name").text() == called })
}

// inject puts a value where a request wants it.
func (s *stream) inject(option node, v value) error {
	if !option.is() {
		return nil
	}
	name := option.get("field_name").text()
	switch into := option.get("inject_into").text(); {
	case name == "":
		return cannot(option, "a value goes to a place within the body, which cannot be told")
	case into == "request_parameter":
		s.query.put(name, "{"+v.text+"}")
	case into == "body_json":
		s.body.put(name, "{"+v.text+"}")
	default:
		return cannot(option, "a value goes into %s, which cannot be told", shorten(into))
	}
	return nil
}

// keys finds out what names a record.
func (s *stream) keys() error {
	n := s.node.get("primary_key")
	for _, one := range n.items() {
		if one.list() {
			return s.nestedKey(one)
		}
		path, err := s.template(one, false)
		if err != nil || path == "" {
			return cannot(one, "its primary key is made up")
		}
		s.key = append(s.key, path)
	}
	if len(s.key) > 0 {
		return nil
	}
	if s.node.dig("schema_loader", "schema", "properties", "id").is() {
		s.im.remark(s.node.line(), s.called, "it states no primary key; id, which its schema has, is taken for it: check that")
		s.key = []any{"id"}
		return nil
	}
	return cannot(s.node, "it states no primary key, and a stream needs one: what names a record?")
}

// nestedKey is a key that is a path, as a list of names.
func (s *stream) nestedKey(n node) error {
	var pieces []string
	for _, one := range n.items() {
		pieces = append(pieces, one.text())
	}
	s.key = []any{strings.Join(pieces, ".")}
	return nil
}

func (s *stream) write() *object {
	o := newObject()
	if s.of != nil {
		o.set("of", s.of.name)
	}
	method := "get"
	if s.post {
		method = "post"
	}
	path := s.path
	if base := s.im.base(); s.base != base && s.host != "" {
		path = strings.TrimPrefix(s.base, base) + path
	}
	o.put(method, cmpOr(path, "/")).set("query", s.query).set("body", s.body).set("page", s.page).set("records", s.records)
	if len(s.key) == 1 {
		o.put("key", s.key[0])
	} else {
		o.put("key", s.key)
	}
	s.windowed(o, path)
	return o.set("version", s.version).set("cursor", s.cursor).set("where", s.where).set("add", s.add).set("remove", s.remove)
}

// windowed states the slices of time of a request that asks for both of their ends; of
// one that tells only the end it is left out.
func (s *stream) windowed(o *object, path string) {
	asks := func(word string) bool {
		found := spoken(path, word)
		for _, in := range []*object{s.query, s.body} {
			for _, name := range in.keys {
				text, _ := in.get(name).(string)
				found = found || spoken(text, word)
			}
		}
		return found
	}
	if s.window != "" && asks("cursor") && asks("until") {
		o.put("window", s.window)
	}
}

var expressions = regexp.MustCompile(`\{[^{}]*\}`)

// spoken says whether an expression of a template speaks of a word.
func spoken(text, word string) bool {
	for _, one := range expressions.FindAllString(text, -1) {
		if regexp.MustCompile(`\b` + word + `\b`).MatchString(one) {
			return true
		}
	}
	return false
}

// scopeOf is what names mean in the stream; record says whether one is at hand.
func (s *stream) scopeOf(n node, record bool, depth int) scope {
	return scope{name: func(root string, path []string) (value, error) {
		switch {
		case root == "config" && len(path) > 0:
			name, set := s.im.setting(path)
			if set.secret {
				return value{}, fmt.Errorf("config.%s is a secret, and only the credential is kept as one", name)
			}
			return value{text: "config." + name, root: "config"}, nil
		case (root == "parameters" || root == "options") && len(path) == 1:
			return s.parameter(n, path[0], record, depth)
		case root == "record" && record:
			return value{text: dotted("record", path), root: "record", path: path}, nil
		case (root == "stream_partition" || root == "stream_slice" || root == "stream_interval") && len(path) > 0:
			return s.slice(path)
		}
		return value{}, fmt.Errorf("%s is not there in an expression", shorten(strings.Join(append([]string{root}, path...), ".")))
	}}
}

func (s *stream) parameter(n node, name string, record bool, depth int) (value, error) {
	v, ok := n.params[name]
	if !ok || !v.scalar() || depth > 5 {
		return literal(""), nil
	}
	if text := v.text(); strings.Contains(text, "{{") {
		all, err := pieces(text)
		if err != nil || len(all) != 1 {
			return value{}, fmt.Errorf("the parameter %s is made up", name)
		}
		return translate(all[0].text, s.scopeOf(n, record, depth+1))
	}
	return literal(v.text()), nil
}

// slice is a field of the partition or of the interval of time.
func (s *stream) slice(path []string) (value, error) {
	if path[0] == "extra_fields" && len(path) > 1 && s.of != nil {
		return value{text: dotted(s.of.name, path[1:]), root: "record"}, nil
	}
	if path[0] == "parent_slice" && len(path) > 1 && s.of != nil {
		return s.of.slice(path[1:])
	}
	if v, ok := s.bound[path[0]]; ok && len(path) == 1 {
		return v, nil
	}
	switch path[0] {
	case "start_time", "start_date":
		if s.since {
			return value{text: "cursor"}, nil
		}
	case "end_time", "end_date":
		if s.since && s.window != "" {
			return value{text: "until"}, nil
		}
		return value{}, errWindow
	}
	return value{}, fmt.Errorf("%s of the partition is not known", shorten(strings.Join(path, ".")))
}
