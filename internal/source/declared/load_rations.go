package declared

import (
	"strconv"
	"strings"
	"time"

	"sluice/internal/ration"
)

// carefulRation is what is taken of an upstream of which nobody has found out what
// it grants.
func carefulRation() ration.Ration {
	return ration.Ration{
		Name: "unknown", Per: []ration.Dimension{ration.PerSource}, Unit: ration.UnitCalls, Shape: ration.Sliding, Calls: 1,
		Every: ration.Period{Length: time.Second},
	}
}

func (l *loader) rations(n node) {
	if n.scalar() {
		l.file.Unknown = true
		l.file.Rations = []ration.Ration{carefulRation()}
		return
	}
	n.each(func(name string, value node) {
		if !streamNames.MatchString(name) {
			value.wrong("give a name of small letters, digits and underscores", "%q cannot be a name", name)
			return
		}
		r := l.ration(name, value)
		if err := r.Check(); err != nil {
			value.wrong("", "%v", err)
		}
		l.file.Rations = append(l.file.Rations, r)
	})
	if len(l.file.Rations) == 0 {
		n.wrong("give one, or ration: unknown", "it states no ration")
	}
}

func (l *loader) ration(name string, n node) ration.Ration {
	r := ration.Ration{
		Name: name, Unit: ration.Unit(n.get("unit").text()), Calls: n.get("calls").int(), Refill: n.get("refill").int(),
		Shape: ration.Shape(n.get("shape").text()), Keep: n.get("keep").int(), Use: l.percent(n.get("use")),
		Low: l.percent(n.get("low")), Cost: n.get("cost").int(), Actual: l.field(n.get("actual")),
	}
	if r.Unit == "" {
		r.Unit = ration.UnitCalls
	}
	if r.Shape == "" {
		r.Shape = ration.Fixed
	}
	for _, one := range n.get("per").items() {
		if header := one.get("header"); header.is() {
			r.Per = append(r.Per, ration.HeaderDimension(header.text()))
			continue
		}
		r.Per = append(r.Per, ration.Dimension(one.text()))
	}
	if every := n.get("every"); every.is() {
		period, err := ration.ParsePeriod(every.text(), n.get("zone").text())
		if err != nil {
			every.wrong("", "%v", err)
		}
		r.Every = period
	}
	for _, one := range n.get("match").items() {
		m, err := ration.ParseMatch(one.text())
		if err != nil {
			one.wrong("", "%v", err)
		}
		r.Match = append(r.Match, m)
	}
	r.Read = l.reading(n.get("read"))
	return r
}

func (l *loader) reading(n node) ration.Read {
	if n.text() == "ietf" {
		return ration.Read{IETF: true}
	}
	reset := n.get("reset")
	return ration.Read{
		Limit: l.field(n.get("limit")), Remaining: l.field(n.get("remaining")), Used: l.field(n.get("used")),
		Refill: l.field(n.get("refill")),
		Reset:  ration.Field{Header: reset.get("header").text(), Body: l.path(reset.get("body")), As: ration.Form(reset.get("as").text())},
	}
}

func (l *loader) field(n node) ration.Field {
	if n.scalar() {
		return ration.Field{Header: n.text()}
	}
	return ration.Field{Header: n.get("header").text(), Body: l.path(n.get("body"))}
}

func (l *loader) percent(n node) int {
	if !n.is() {
		return 0
	}
	share, err := strconv.Atoi(strings.TrimSuffix(n.text(), "%"))
	if err != nil || !strings.HasSuffix(n.text(), "%") || share < 1 || share > 100 {
		n.wrong("give a share from 1% to 100%", "%q is not a share", n.text())
	}
	return share
}
