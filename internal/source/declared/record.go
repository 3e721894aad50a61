package declared

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// record is one of a page.
type record struct {
	value gjson.Result
	name  string
	doc   document.Document
}

// records reads those of a page; wrong says what is not as the file says. A record that
// cannot be read is left out, and told of; if none of a first page can be, it is the file
// that is wrong.
func (c *call) records(a *answer) (all []record, wrong string) {
	path := c.request.records
	fetched := c.s.serverTime(a)
	met := 0
	take := func(v gjson.Result) {
		c.members++
		if v.Type == gjson.Null {
			return
		}
		if !v.IsObject() {
			v = gjson.Parse(`{"value":` + v.Raw + `}`)
		}
		r, keep, why := c.record(v, fetched)
		switch met++; {
		case why != "":
			c.leftOut(met, why)
		case keep:
			all = append(all, r)
		}
	}
	found := at(a.json, strings.TrimSuffix(strings.TrimSuffix(path, ".*"), "*"))
	switch {
	case strings.Contains(strings.TrimSuffix(path, "*"), "*"):
		every(a.json, path, func(v gjson.Result) { eachOf(v, take) })
	case !found.Exists() && c.stream.xml && at(a.json, strings.SplitN(path, ".", 2)[0]).Exists():
		// A list without members is not there.
	case !found.Exists():
		return nil, fmt.Sprintf("the answer has nothing at %q, where its records should be", path)
	case strings.HasSuffix(path, "*") && found.IsObject():
		found.ForEach(func(_, v gjson.Result) bool { take(v); return true })
	case found.Type != gjson.Null && !found.IsArray() && !found.IsObject():
		return nil, "the answer is neither a list nor an object"
	default:
		eachOf(found, take)
	}
	if c.first() && c.left == met {
		wrong = c.leftWhy
	}
	return all, wrong
}

// leftOut notes a record that cannot be read.
func (c *call) leftOut(which int, why string) {
	if c.left++; c.left == 1 {
		c.leftWhy, c.leftWhich = why, which
	}
}

// leftText tells of the records of a page that were left out.
func leftText(c walk) string {
	if c.left > 1 {
		return fmt.Sprintf("%d records of page %d were left out, the first of them record %d: %s", c.left, c.p.Page+1, c.leftWhich, c.leftWhy)
	}
	return fmt.Sprintf("record %d of page %d was left out: %s", c.leftWhich, c.p.Page+1, c.leftWhy)
}

// unread is the job that tells what a walk lacks: it makes no call and fails, so that the
// run is known to be incomplete, and why.
func (c walk) unread(text string) domain.JobSpec {
	p := params{Base: c.p.Base, Page: c.p.Page, Tag: c.p.Tag, From: c.p.From, Until: c.p.Until, Moved: c.p.Moved, Unread: text}
	job := c.s.spec(c.Job.Type, c.Job.Resource, p, domain.ClassWalk)
	// What makes no call is not counted as one.
	job.Bucket = domain.LocalBucket
	return job
}

// eachOf calls fn for each member of a list, or for the one thing that is none.
func eachOf(v gjson.Result, fn func(gjson.Result)) {
	if !v.IsArray() {
		fn(v)
		return
	}
	v.ForEach(func(_, one gjson.Result) bool { fn(one); return true })
}

// record reads one. What the file does not want is not kept.
func (c *call) record(v gjson.Result, fetched time.Time) (r record, keep bool, wrong string) {
	s := c.stream
	if s.where != nil {
		env := c.env()
		env["record"] = small(v)
		holds, err := s.where.bool(env)
		if err != nil {
			return r, false, err.Error()
		}
		if !holds {
			return r, false, ""
		}
	}
	if r.name = c.nameOf(v); r.name == "" {
		return r, false, fmt.Sprintf("a record of %s has nothing at %s, which is its key", s.Name, strings.Join(s.key, ", "))
	}
	raw, err := c.shaped(v)
	if err != nil {
		return r, false, err.Error()
	}
	r.value = v
	r.doc = document.Document{
		Key:     document.Key{Account: c.Run.AccountID, Kind: c.s.file.Kind(s), Name: r.name},
		Version: fetched, SeenAt: fetched, Raw: raw,
		Fields: document.Fields{Repository: c.s.container(c.containerOf(v))},
	}
	s.readFields(raw, &r.doc.Fields)
	switch {
	case !r.doc.UpdatedAt.IsZero():
		r.doc.Version = r.doc.UpdatedAt
	case c.mode == modeSweep && s.version != "":
		// A look at what is there may ask for little of it: that it was seen counts, and
		// what is stored stays.
		r.doc.Version = time.Unix(1, 0).UTC()
	}
	if len(raw) > c.s.opt.MaxPayload {
		r.doc.Truncated, r.doc.Raw = true, c.shortened(v, raw)
	}
	return r, true, ""
}

// nameOf joins what names a record; "" if a part is missing.
func (c *call) nameOf(v gjson.Result) string {
	parts := make([]string, 0, len(c.stream.key))
	for _, path := range c.stream.key {
		text := keyAt(v, path)
		if first, rest, _ := strings.Cut(path, "."); c.p.Parents[first] != nil {
			field, _, _ := strings.Cut(rest, ".")
			text, _ = plain(c.p.Parents[first][field])
		}
		if text == "" {
			return ""
		}
		if len(c.stream.key) > 1 {
			// What separates parts is none of one: 1 and 2:3 are not 1:2 and 3.
			text = strings.NewReplacer("%", "%25", ":", "%3A").Replace(text)
		}
		parts = append(parts, text)
	}
	return shorten(strings.Join(parts, ":"), 500)
}

// containerOf is the resource that a record belongs to: what the job was applied to,
// or in a walk over all parents the one that the record names.
func (c *call) containerOf(v gjson.Result) string {
	if c.mode != modeAll {
		return c.Job.Resource
	}
	// Parents of one walk for all of them are roots: what they belong to is the
	// account.
	return recordPath(rootResource, c.stream.Parent.Name, textAt(v, c.stream.parentKey))
}

// shaped is a record as it is stored: with what the file adds, renames and removes.
func (c *call) shaped(v gjson.Result) ([]byte, error) {
	s := c.stream
	if len(s.add)+len(s.remove)+len(s.rename) == 0 {
		return []byte(v.Raw), nil
	}
	fields := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(v.Raw))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("a record of %s is not an object", s.Name)
	}
	if len(s.add) > 0 {
		env := c.env()
		env["record"] = small(v)
		for _, p := range s.add {
			value, err := p.made.value(env)
			if err != nil {
				return nil, err
			}
			fields[p.name] = value
		}
	}
	for _, names := range s.rename {
		if value, there := fields[names[0]]; there {
			delete(fields, names[0])
			fields[names[1]] = value
		}
	}
	for _, path := range s.remove {
		removeAt(fields, path)
	}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(fields); err != nil {
		return nil, fmt.Errorf("a record of %s cannot be stored: %w", s.Name, err)
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

func removeAt(v any, path string) {
	name, rest, more := strings.Cut(path, ".")
	switch v := v.(type) {
	case map[string]any:
		if !more {
			delete(v, name)
		} else if name == "*" {
			for _, one := range v {
				removeAt(one, rest)
			}
		} else {
			removeAt(v[name], rest)
		}
	case []any:
		for _, one := range v {
			if name == "*" {
				removeAt(one, rest)
			} else {
				removeAt(one, path)
			}
		}
	}
}

// shortened keeps of a record that is too large what is short in it.
func (c *call) shortened(v gjson.Result, raw []byte) []byte {
	if text, err := json.Marshal(small(v)); err == nil && len(text) <= c.s.opt.MaxPayload {
		return text
	}
	return raw[:0:0]
}

// readFields sets what the columns of a stream show.
func (s *Stream) readFields(raw []byte, f *document.Fields) {
	v := gjson.ParseBytes(raw)
	if s.version != "" {
		f.UpdatedAt, _ = guess(textAt(v, s.version))
	}
	if s.title != "" {
		f.Title = textAt(v, s.title)
	}
	for i := range s.columns {
		c := &s.columns[i]
		value := document.Value{Null: true}
		if s.fits(c, v) {
			value = c.value(v)
		}
		if value.Null {
			s.misfit(c, v)
		}
		f.Set(c.name, value)
	}
}

func (col *column) value(v gjson.Result) document.Value {
	null := document.Value{Null: true}
	if col.typ == document.TypeList {
		var members []string
		if !every(v, col.at, func(found gjson.Result) {
			eachOf(found, func(one gjson.Result) { members = append(members, shownText(one)) })
		}) {
			return null
		}
		return document.List(members...)
	}
	found := at(v, col.at)
	if !found.Exists() || found.Type == gjson.Null {
		return null
	}
	switch col.typ {
	case document.TypeInteger:
		if found.Type != gjson.Number {
			return null
		}
		return document.Integer(found.Int())
	case document.TypeBoolean:
		return document.Boolean(found.Bool())
	case document.TypeInstant:
		t, _ := guess(textAt(v, col.at))
		return document.Instant(t)
	default:
		return document.Text(shownText(found))
	}
}

// shownText is a value as a column shows it: of what has members its JSON, of an element
// of XML its text.
func shownText(v gjson.Result) string {
	if v.IsObject() {
		if text := member(v, textMember); text.Exists() {
			return text.String()
		}
	}
	return v.String()
}

// fields are what the jobs of a stream's children must know of one of its records.
func (c *call) fields(r record) map[string]map[string]any {
	parents := map[string]map[string]any{}
	for name, fields := range c.p.Parents {
		parents[name] = fields
	}
	own := map[string]any{}
	for _, field := range c.stream.carries {
		if field == "" {
			if all, ok := small(r.value).(map[string]any); ok {
				own = all
			}
			break
		}
		if v := member(r.value, field); v.Exists() {
			own[field] = small(v)
		}
	}
	parents[c.stream.Name] = own
	return parents
}
