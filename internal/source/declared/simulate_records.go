package declared

import (
	"slices"
	"strings"

	"sluice/internal/domain"
)

// recordSim turns round how a record is asked for.
func (f *File) recordSim(r *Record) (simKeyed, error) {
	out := simKeyed{Name: r.Name, Query: map[string]string{}, Keep: r.keep}
	for _, other := range f.Records {
		for _, need := range other.needs {
			if need.of == r && !slices.Contains(out.Tells, need.field) {
				out.Tells = append(out.Tells, need.field)
			}
		}
	}
	text, err := f.recogniseRecord(r, r.request.url)
	if err != nil {
		return out, err
	}
	path, query, _ := strings.Cut(text, "?")
	out.Path = path
	for param := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(param, "="); ok {
			out.Query[name] = value
		}
	}
	for _, p := range r.request.query {
		if out.Query[p.name], err = f.recogniseRecord(r, p.made); err != nil {
			return out, err
		}
	}
	return out, nil
}

// recogniseRecord is a template with {key} or {FIELD} where it names a record.
func (f *File) recogniseRecord(r *Record, t *template) (string, error) {
	var all strings.Builder
	for _, p := range t.parts {
		name := ""
		if p.made != nil {
			name = p.made.text
		}
		field, isConfig := strings.CutPrefix(name, "config.")
		switch {
		case p.made == nil:
			all.WriteString(p.text)
		case isConfig:
			all.WriteString(f.Config[field])
		case name == "key" || slices.ContainsFunc(r.needs, func(n given) bool { return n.field == name }):
			all.WriteString("{" + name + "}")
		default:
			return "", domain.Errorf(domain.CodeInvalid, "the record %s (line %d) cannot be simulated: what {%s} was cannot be told from an address", r.Name, r.Line, name)
		}
	}
	return all.String(), nil
}
