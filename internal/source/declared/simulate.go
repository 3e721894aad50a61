package declared

import (
	"encoding/json"
	"slices"
	"strings"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/ration"
)

// Simulated is the upstream that the file describes, as simulators take it. What an
// expression makes beyond naming things cannot be turned round; a file with such
// addresses is refused, with the stream that has them.
func (f *File) Simulated() ([]byte, error) {
	spec, err := f.simulated()
	if err != nil {
		return nil, err
	}
	return json.Marshal(spec)
}

func (f *File) simulated() (simSpec, error) {
	spec := simSpec{}
	for i := range f.auths {
		a, err := f.authSim(&f.auths[i], &spec)
		if err != nil {
			return spec, err
		}
		spec.Auths = append(spec.Auths, a)
	}
	if f.owner != nil {
		route, err := f.routeSim(nil, &request{method: "GET", url: f.owner.url}, &spec)
		if err != nil {
			return spec, err
		}
		spec.Owner, spec.OwnerAt = route.Path, f.owner.id
	}
	if len(f.Park.On) > 0 {
		spec.ParkStatus = f.Park.On[0]
	}
	for i := range f.Rations {
		spec.Rations = append(spec.Rations, rationSim(&f.Rations[i]))
	}
	for _, r := range f.Records {
		k, err := f.recordSim(r)
		if err != nil {
			return spec, err
		}
		spec.Keyed, spec.ErrorAt = append(spec.Keyed, k), f.wrong
	}
	for _, s := range f.Streams {
		spec.Streams = append(spec.Streams, f.streamSim(s))
	}
	for i, s := range f.Streams {
		if s.where != nil {
			return spec, unsimulated(s, "which of its records are kept is decided by an expression")
		}
		for _, name := range []string{"first", "", "changes", "sweep", "count"} {
			r := s.requests()[name]
			if r == nil {
				continue
			}
			route, err := f.routeSim(s, r, &spec)
			if err != nil {
				return spec, err
			}
			if name == "count" {
				route.Count, route.One = simPlace{Header: s.countAt.header, Body: s.countAt.body}, false
			}
			spec.Streams[i].Routes = append(spec.Streams[i].Routes, route)
		}
	}
	return spec, nil
}

// authSim is one of the ways in which a credential is shown.
func (f *File) authSim(a *auth, spec *simSpec) (simAuth, error) {
	out := simAuth{Header: a.header, Prefix: a.prefix, Query: a.query, Basic: a.basic}
	if a.login == nil {
		return out, nil
	}
	in := a.login
	address := in.url.text
	if _, rest, whole := strings.Cut(address, "://"); whole {
		// Where the base is replaced, tokens come from there too.
		_, rest, _ = strings.Cut(rest, "/")
		address = "/" + rest
	}
	url, err := parseTemplate(address, (&loader{file: f}).names())
	if err != nil {
		return out, domain.Errorf(domain.CodeInvalid, "where tokens are given cannot be simulated: %v", err)
	}
	route, err := f.routeSim(nil, &request{method: "POST", url: url}, spec)
	if err != nil {
		return out, err
	}
	out.Login = &simLogin{
		Path: route.Path, Grant: in.grant, InHeader: in.inHeader, Token: simPlace{Header: in.token.header, Body: in.token.body},
		Expires: placeSim(in.expires), ExpiresAs: string(in.expires.As), Lasts: in.lasts,
	}
	for _, p := range in.fields {
		out.Login.Fields = append(out.Login.Fields, p.name)
	}
	return out, nil
}

func unsimulated(s *Stream, why string) error {
	if s == nil {
		return domain.Errorf(domain.CodeInvalid, "the file cannot be simulated: %s", why)
	}
	return domain.Errorf(domain.CodeInvalid, "the stream %s (line %d) cannot be simulated: %s", s.Name, s.Line, why)
}

func (f *File) streamSim(s *Stream) simStream {
	out := simStream{Name: s.Name, Version: s.version, Title: s.title, ParentAt: s.parentKey, ETag: s.etag, XML: s.xml, Fields: map[string]simKind{}, Addresses: map[string]string{}}
	if s.Parent != nil {
		out.Parent = s.Parent.Name
	}
	// What is asked only for parents that changed can only be had if it changes them.
	out.Touches = s.Parent != nil && !s.Parent.listing()
	if len(s.gone) > 0 {
		out.Gone = s.gone[0]
	}
	for _, c := range s.columns {
		if !strings.Contains(c.at, "*") {
			out.Fields[c.at] = fieldSim(c.typ)
		}
	}
	for _, field := range s.carries {
		if field != "" {
			out.Fields[field] = simFieldName
		}
	}
	for _, path := range s.key {
		path, _, _ = strings.Cut(path, "|")
		first, rest, _ := strings.Cut(path, ".")
		above := slices.IndexFunc(s.ancestors(), func(p *Stream) bool { return p.Name == first })
		if above >= 0 {
			out.Names = append(out.Names, simPart{Above: above + 1, Path: rest})
			continue
		}
		out.Names = append(out.Names, simPart{Path: path})
		if out.Key != "" {
			out.Fields[out.Key] = simFieldName
		}
		out.Key = path
	}
	for _, own := range []string{out.Key, out.Version, out.Title, out.ParentAt} {
		delete(out.Fields, own)
	}
	return out
}

func fieldSim(t document.Type) simKind {
	switch t {
	case document.TypeInteger:
		return simFieldInteger
	case document.TypeBoolean:
		return simFieldBoolean
	case document.TypeInstant:
		return simFieldInstant
	case document.TypeList:
		return simFieldList
	default:
		return simFieldText
	}
}

// simRoute turns a request round: from how it is made to how it is recognised.
func (f *File) routeSim(s *Stream, r *request, spec *simSpec) (simRoute, error) {
	route := simRoute{Method: r.method, Query: map[string]string{}, Records: r.records}
	if strings.Contains(r.records, "*") {
		return route, unsimulated(s, "its records are at "+r.records)
	}
	if s != nil {
		route.One = r.page.kind == pageNone && r.records == "" && s.Parent != nil && len(s.key) == 1 && !strings.Contains(r.url.text, "?")
	}
	route.Page = simPage{
		Kind: r.page.kind, Param: r.page.param, SizeParam: r.page.sizeParam, Size: r.page.size, Start: r.page.start, More: r.page.more, Rel: r.page.rel, By: r.page.by,
		Total: simPlace{Header: r.page.total.header, Body: r.page.total.body}, Pages: simPlace{Header: r.page.pages.header, Body: r.page.pages.body},
		Next: simPlace{Header: r.page.next.header, Body: r.page.next.body},
	}
	text, err := f.recognise(s, r.url, spec)
	if err != nil {
		return route, err
	}
	path, query, _ := strings.Cut(text, "?")
	route.Path = path
	for param := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(param, "="); ok {
			f.simParam(s, &route, name, value)
		}
	}
	for _, p := range r.query {
		value, err := f.recognise(s, p.made, spec)
		if err != nil {
			return route, err
		}
		f.simParam(s, &route, p.name, value)
	}
	return route, nil
}

func (f *File) simParam(s *Stream, route *simRoute, name, value string) {
	if s != nil && strings.Contains(value, cursorHole) {
		route.SinceAs = s.cursor.as
	}
	route.Query[name] = value
}

const cursorHole = "{cursor}"

// recognise is a template with holes: {parent.FIELD} where it names a parent, {*}
// for what may be anything.
func (f *File) recognise(s *Stream, t *template, spec *simSpec) (string, error) {
	var all strings.Builder
	for i, p := range t.parts {
		if p.made == nil {
			all.WriteString(p.text)
			continue
		}
		name, field, dotted := strings.Cut(p.made.text, ".")
		switch {
		case name == "target" && !dotted:
			all.WriteString("{*}")
		case name == "cursor" && !dotted:
			all.WriteString(cursorHole)
		case name == "until" && !dotted:
			all.WriteString("{until}")
		case name == "config" && dotted:
			all.WriteString(f.Config[field])
		case s != nil && s.Parent != nil && name == s.Parent.Name && columnNames.MatchString(field) && i == 0 && len(t.parts) == 1:
			above := slices.IndexFunc(spec.Streams, func(o simStream) bool { return o.Name == name })
			spec.Streams[above].Addresses[field] = s.Name
			delete(spec.Streams[above].Fields, field)
			all.WriteString("/_of/" + s.Name + "/{parent." + spec.Streams[above].Key + "}")
		case s != nil && s.Parent != nil && name == s.Parent.Name && dotted:
			all.WriteString("{parent." + field + "}")
		case s != nil && slices.ContainsFunc(s.ancestors(), func(o *Stream) bool { return o.Name == name }):
			all.WriteString("{*}")
		default:
			return "", unsimulated(s, "what {"+p.made.text+"} was cannot be told from an address")
		}
	}
	return all.String(), nil
}

func rationSim(r *ration.Ration) simRation {
	out := simRation{
		Name: r.Name, Calls: r.Calls, Refill: r.Refill, Every: r.Every.Length, Shape: string(r.Shape),
		Limit: placeSim(r.Read.Limit), Remaining: placeSim(r.Read.Remaining), Used: placeSim(r.Read.Used), Reset: placeSim(r.Read.Reset), ResetAs: string(r.Read.Reset.As),
	}
	for _, d := range r.Per {
		out.PerKey = out.PerKey || d == ration.PerKey || d == ration.PerOwner
		out.PerStream = out.PerStream || d == ration.PerStream
	}
	for _, m := range r.Match {
		out.Match = append(out.Match, m.Path)
	}
	return out
}

func placeSim(f ration.Field) simPlace { return simPlace{Header: f.Header, Body: f.Body} }
