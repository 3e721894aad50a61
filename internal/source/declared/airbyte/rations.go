package airbyte

import (
	"fmt"
	"strconv"
	"strings"
)

// rule is what an answer means.
type rule struct {
	holds, do, wait, say string
}

func (im *importer) answers() []any {
	var all []any
	for _, r := range im.rules {
		all = append(all, flow().set("if", r.holds).set("do", r.do).set("for", r.wait).set("say", r.say))
	}
	return all
}

// handlers translates what answers mean. Rules are the file's: those of all streams
// stand together.
func (s *stream) handlers(n node, depth int) {
	if !n.is() || depth > 3 {
		return
	}
	switch kind := n.kind(); kind {
	case "CompositeErrorHandler":
		for _, one := range n.get("error_handlers").items() {
			s.handlers(one, depth+1)
		}
		return
	case "", "DefaultErrorHandler":
	default:
		s.im.remark(n.line(), s.called, "answers mean what their status says: there is nothing like %s", shorten(kind))
		return
	}
	for _, f := range n.get("response_filters").items() {
		s.filter(f)
	}
	for _, b := range n.get("backoff_strategies").items() {
		s.backoff(b)
	}
}

func (s *stream) filter(f node) {
	do := map[string]string{"FAIL": "fail", "IGNORE": "skip", "RETRY": "retry", "RATE_LIMITED": "wait"}[f.get("action").text()]
	var conditions []string
	var codes []string
	for _, c := range f.get("http_codes").items() {
		if code, err := strconv.Atoi(c.text()); err == nil {
			codes = append(codes, strconv.Itoa(code))
		}
	}
	if len(codes) > 0 {
		conditions = append(conditions, "status in ["+strings.Join(codes, ", ")+"]")
	}
	if f.get("error_message_contains").is() || f.get("predicate").is() {
		s.im.remark(f.line(), s.called, "a rule about what an answer says is left out: write it as one of answers, with error")
		return
	}
	if do == "" || len(conditions) == 0 {
		if action := f.get("action").text(); action != "SUCCESS" && action != "" {
			s.im.remark(f.line(), s.called, "the rule %s is left out: it cannot be told", shorten(action))
		}
		return
	}
	r := rule{holds: strings.Join(conditions, " and "), do: do}
	if do == "wait" {
		r.wait = "1m"
	}
	for _, old := range s.im.rules {
		if old.holds == r.holds {
			if old.do != r.do {
				s.im.remark(f.line(), s.called, "for %s it has another rule than other streams, and a file has one: %s", r.holds, old.do)
			}
			return
		}
	}
	s.im.rules = append(s.im.rules, r)
	s.im.remark(f.line(), "", "the rule %s: %s holds for all streams", r.holds, r.do)
}

// backoff translates which header says how long to stay away.
func (s *stream) backoff(n node) {
	header := n.get("header").text()
	if s.im.park != nil || header == "" || strings.ContainsAny(header, "{} ") {
		return
	}
	switch n.kind() {
	case "WaitTimeFromHeader":
		s.im.park = flow().put("on", []any{429}).put("for", flow().set("header", header).set("as", "delta"))
	case "WaitUntilTimeFromHeader":
		s.im.park = flow().put("on", []any{429}).put("for", flow().set("header", header).set("as", "epoch"))
	}
}

// rations translates what the manifest says that the upstream grants. There the first
// policy that matches a call counts, here all do: that is the careful way.
func (im *importer) rations() *object {
	all := newObject()
	budget := im.root.member("api_budget")
	for _, p := range budget.get("policies").items() {
		switch kind := p.kind(); kind {
		case "FixedWindowCallRatePolicy":
			im.granted(all, p, budget, "fixed", p.get("call_limit"), p.get("period"))
		case "MovingWindowCallRatePolicy":
			for _, r := range p.get("rates").items() {
				im.granted(all, p, node{doc: p.doc}, "sliding", r.get("limit"), r.get("interval"))
			}
		case "UnlimitedCallRatePolicy":
		default:
			im.remark(p.line(), "", "the ration %s cannot be told", shorten(kind))
		}
	}
	return all
}

func (im *importer) granted(all *object, p, budget node, shape string, limit, period node) {
	calls, err := strconv.Atoi(limit.text())
	every, ok := isoDuration(period.text())
	if err != nil || calls < 1 || !ok {
		im.remark(p.line(), "", "a ration of %s every %s is not a number of calls in a time; state it", shorten(described(limit)), shorten(described(period)))
		return
	}
	if len(p.get("matchers").items()) > 0 {
		im.remark(p.line(), "", "its ration is for some calls; here it holds for all: match says which")
	}
	name := fmt.Sprintf("r%d", len(all.keys)+1)
	all.put(name, flow().set("per", "key").put("calls", calls).set("every", every.String()).set("shape", shape))
	if h := budget.get("ratelimit_reset_header"); h.is() {
		im.remark(h.line(), "", "the headers %s and %s tell of the ration; read: {remaining: …, reset: {header: …, as: …}} must say in which form", shorten(h.text()), shorten(budget.get("ratelimit_remaining_header").text()))
	}
}
