package airbyte

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// selection translates where the records are and which of them are kept.
func (s *stream) selection(n node) error {
	e := n.get("extractor")
	if kind := e.kind(); e.is() && kind != "" && kind != "DpathExtractor" {
		return cannot(e, "there is nothing like %s", shorten(kind))
	}
	var path []string
	for _, one := range e.get("field_path").items() {
		text, err := s.template(one, false)
		switch {
		case err != nil || strings.ContainsAny(text, "{}.[]$"):
			return cannot(one, "the path of its records has %s in it, which cannot be told", shorten(described(one)))
		case text != "":
			path = append(path, text)
		}
	}
	s.records = strings.Join(path, ".")
	filter := n.get("record_filter")
	if !filter.is() {
		return nil
	}
	v, err := s.expression(filter.get("condition"))
	switch {
	case filter.kind() == "CustomRecordFilter" || err != nil:
		s.im.remark(filter.line(), s.called, "records are not filtered: the filter cannot be told (%s)", reason(err))
	default:
		s.where = v.condition()
	}
	return nil
}

func reason(err error) string {
	if err == nil {
		return "it is a program"
	}
	return err.Error()
}

// transform translates fields that records get and lose. What cannot be told is left
// as it came: the whole record is kept.
func (s *stream) transform(n node) {
	for _, one := range n.items() {
		switch kind := one.kind(); kind {
		case "AddFields":
			for _, f := range one.get("fields").items() {
				s.addField(f)
			}
		case "RemoveFields":
			for _, pointer := range one.get("field_pointers").items() {
				var path []string
				for _, p := range pointer.items() {
					path = append(path, p.text())
				}
				if text := strings.Join(path, "."); text != "" && !strings.ContainsAny(text, "[]{}$*") {
					s.remove = append(s.remove, text)
					continue
				}
				s.im.remark(pointer.line(), s.called, "fields that are told by a pattern are not removed")
			}
		default:
			s.im.remark(one.line(), s.called, "records stay as they come: there is nothing like %s", shorten(kind))
		}
	}
}

func (s *stream) addField(f node) {
	var path []string
	for _, p := range f.get("path").items() {
		path = append(path, p.text())
	}
	v := f.get("value")
	text, err := s.template(v, true)
	switch {
	case len(path) != 1:
		s.im.remark(f.line(), s.called, "the field %s is not added: it is within another one", shorten(strings.Join(path, ".")))
	case errors.Is(err, errWindow), err != nil:
		s.im.remark(v.line(), s.called, "the field %s is not added: %s", shorten(path[0]), err)
	case text != "":
		s.add.put(path[0], text)
	}
}

// incremental translates a cursor of time.
func (s *stream) incremental(n node) {
	if !n.is() {
		return
	}
	if kind := n.kind(); kind != "DatetimeBasedCursor" && kind != "" {
		s.im.remark(n.line(), s.called, "every run asks for everything: there is nothing like %s", shorten(kind))
		return
	}
	s.version, _ = s.template(n.get("cursor_field"), false)
	if strings.ContainsAny(s.version, "{}[]$ ") {
		s.version = ""
	}
	form := n.get("datetime_format")
	as := cursorForm(form.text())
	if as == "" {
		s.im.remark(n.line(), s.called, "every run asks for everything: {cursor} cannot be written as %s", shorten(form.text()))
		return
	}
	s.since = true
	s.cursor = flow().set("as", as)
	s.begins(n.get("start_datetime"))
	if lookback := n.get("lookback_window"); lookback.is() {
		if d, ok := isoDuration(lookback.text()); ok {
			s.cursor.set("overlap", d.String())
		} else {
			s.im.remark(lookback.line(), s.called, "a walk begins a minute before the last one: %s is not a duration", shorten(described(lookback)))
		}
	}
	if option := n.get("start_time_option"); option.is() {
		if err := s.inject(option, value{text: "cursor"}); err != nil {
			s.im.remark(option.line(), s.called, "every run asks for everything: %s", err)
		}
	}
	s.slices(n)
}

// slices translates windows of dates. Where the manifest states no step there is one
// slice, until now.
func (s *stream) slices(n node) {
	end, begins := n.get("end_time_option"), s.cursor.get("start") != nil
	if begins {
		s.window = "36500d"
		if d, ok := isoDuration(n.get("step").text()); ok && d >= time.Minute && (s.cursor.get("as") != "date" || d >= 24*time.Hour) {
			s.window = d.String()
		}
	}
	if !end.is() {
		return
	}
	if !begins {
		s.im.remark(end.line(), s.called, "%s is left out: %s", shorten(end.get("field_name").text()), errWindow)
		return
	}
	if err := s.inject(end, value{text: "until"}); err != nil {
		s.im.remark(end.line(), s.called, "%s is left out: %s", shorten(end.get("field_name").text()), err)
	}
}

// begins translates since when records are asked for.
func (s *stream) begins(n node) {
	if n.mapping() {
		n = n.get("datetime")
	}
	text := n.text()
	if v, err := s.expression(n); err == nil && plainConfig.MatchString(v.text) {
		s.cursor.set("start", "{"+v.text+"}")
		return
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly, "2006-01-02T15:04:05.000Z"} {
		if t, err := time.Parse(layout, text); err == nil {
			s.cursor.set("start", t.UTC().Format(time.RFC3339))
			return
		}
	}
	s.im.remark(n.line(), s.called, "the first walk begins with 1970, not with %s; cursor: {start: …} says otherwise", shorten(described(n)))
}

var plainConfig = regexp.MustCompile(`^config\.[a-z0-9_]+$`)

var isoDurations = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$`)

// isoDuration reads one such as P1D or PT10S, of at most some years.
func isoDuration(text string) (time.Duration, bool) {
	m := isoDurations.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	const day = 24 * time.Hour
	var all time.Duration
	for i, unit := range []time.Duration{365 * day, 30 * day, 7 * day, day, time.Hour, time.Minute, time.Second} {
		n, err := strconv.Atoi("0" + m[i+1])
		if err != nil || n > 100_000 || time.Duration(n) > 50*365*day/unit {
			return 0, false
		}
		all += time.Duration(n) * unit
	}
	return all, all > 0
}
