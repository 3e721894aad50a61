package declared

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/internal/source/trim"
)

var recordNames = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,40}$`)

// leastFresh is the least for which a value can count as fresh: readers remember for as
// long that they have asked for another one.
const leastFresh = time.Minute

// recordLoader reads what is kept fresh by key.
type recordLoader struct{ *loader }

// records reads all of it.
func (l recordLoader) records(root node) {
	f, nodes := l.file, map[string]node{}
	l.onlyRecords(root)
	root.get("records").each(func(name string, value node) {
		if !recordNames.MatchString(name) {
			value.wrong("give a name of small letters, digits, hyphens and underscores", "%q cannot be a record", name)
			return
		}
		r := &Record{Name: name, Doc: value.get("doc").text(), Line: value.line(), fresh: value.get("fresh").duration()}
		for _, one := range value.get("keep").items() {
			r.keep = append(r.keep, l.path(one))
		}
		if fresh := value.get("fresh"); fresh.is() && r.fresh < leastFresh {
			fresh.wrong("give at least 1m", "%s is too short to be kept", fresh.text())
		}
		l.fields(r, value.get("keep"))
		f.Records, nodes[name] = append(f.Records, r), value
	})
	if len(f.Records) == 0 {
		root.get("records").wrong("declare one", "there are no records")
		return
	}
	for _, r := range f.Records {
		l.record(r, nodes[r.Name])
	}
	l.cyclesOfRecords(nodes)
	l.tiers(root.get("tiers"))
	l.keptRations(root.get("ration"))
}

// onlyRecords refuses what is about streams alone.
func (l recordLoader) onlyRecords(root node) {
	if s := root.get("streams"); s.is() {
		s.wrong("write them into a file of its own", "a file has streams or records: they are counted apart, and both together would go beyond a ration")
	}
	if o := root.get("owner"); o.is() {
		o.wrong("leave it out", "all records are asked for with one credential")
	}
	base, headers := map[string][]string{}, map[string][]string{}
	l.file.base.reads(base)
	for _, h := range l.file.headers {
		h.made.reads(headers)
	}
	for name, reads := range map[string]map[string][]string{"base": base, "headers": headers} {
		if len(reads["target"]) > 0 {
			root.get(name).wrong("use {config.NAME}", "records are of no target")
		}
	}
}

func (l recordLoader) fields(r *Record, n node) {
	paths := slices.Clone(r.keep)
	if slices.ContainsFunc(paths, func(p string) bool { return p == "" || p == "." || strings.Contains("."+p+".", ".*.") }) {
		n.wrong("write names with dots between them; leave keep out to keep everything", "lists do not count as a step, and * is not needed")
		return
	}
	fields, err := trim.Compile(paths...)
	if err != nil {
		n.wrong("", "%v", err)
	}
	r.fields = fields
}

// record reads how one is asked for.
func (l recordLoader) record(r *Record, n node) {
	known, givers := names{"config": l.names()["config"], "key": ""}, map[string][]*Record{}
	for _, other := range l.file.Records {
		for _, field := range other.keep {
			if other != r && streamNames.MatchString(field) && !contains(taken, field) {
				known[field], givers[field] = "", append(givers[field], other)
			}
		}
	}
	r.request = &request{method: "GET", url: l.address(n.get("get"), known)}
	n.get("query").each(func(name string, value node) {
		r.request.query = append(r.request.query, pair{name, l.template(value, known)})
	})
	reads := map[string][]string{}
	r.request.reads(reads)
	for _, field := range sortedNames(reads) {
		switch of := givers[field]; {
		case len(of) > 1:
			n.get("get").wrong("keep it of one of them alone, or call it by another name", "%s is kept of %s and of %s", field, of[0].Name, of[1].Name)
		case len(of) == 1:
			r.needs = append(r.needs, given{field, of[0]})
		}
	}
	if len(reads["key"]) == 0 && len(r.needs) == 0 && n.get("get").is() {
		n.get("get").wrong("put {key} into the address", "every key would be asked for in the same words")
	}
}

func sortedNames(of map[string][]string) (all []string) {
	for name := range of {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// cyclesOfRecords refuses records that need each other.
func (l recordLoader) cyclesOfRecords(nodes map[string]node) {
	for _, r := range l.file.Records {
		path := []string{r.Name}
		if r.leadsTo(r, &path, map[*Record]bool{}) {
			nodes[r.Name].get("get").wrong("let one of them be asked for by {key} alone", "records cannot need each other: %s", strings.Join(path, " needs "))
			return
		}
	}
}

// leadsTo says whether what a record needs leads to another, and by which path.
func (r *Record) leadsTo(to *Record, path *[]string, seen map[*Record]bool) bool {
	for _, need := range r.needs {
		*path = append(*path, need.of.Name)
		if need.of == to || !seen[need.of] && need.of.leadsTo(to, path, seen) {
			return true
		}
		seen[need.of] = true
		*path = (*path)[:len(*path)-1]
	}
	return false
}

func (l recordLoader) tiers(n node) {
	f := &l.file.tiers
	f.Hot, f.Warm, f.Cold = time.Hour, 6*time.Hour, 24*time.Hour
	for name, into := range map[string]*time.Duration{"hot": &f.Hot, "warm": &f.Warm, "cold": &f.Cold} {
		if n.get(name).is() {
			*into = n.get(name).duration()
		}
	}
	if f.Hot < leastFresh || f.Warm < f.Hot || f.Cold < f.Warm {
		n.wrong("give hot, warm and cold, each as long as the one before or longer, from 1m", "the tiers are %s, %s and %s", f.Hot, f.Warm, f.Cold)
	}
}

// keptRations refuses rations that the keeper of records cannot keep.
func (l recordLoader) keptRations(n node) {
	if l.follows("ration") || len(l.mistakes) > 0 {
		return
	}
	if l.file.Unknown {
		n.wrong("state what it grants, such as {all: {per: key, calls: 5, every: 1s, shape: sliding}}", "records need to know what the upstream grants")
		return
	}
	if _, name, wrong := keptRate(l.file.Rations); wrong != "" {
		at := n
		if name != "" {
			at = n.get(name)
		}
		at.wrong("give a ration of calls per second, and one of a day if there is one", "%s", wrong)
	}
}
