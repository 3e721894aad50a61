package declared

import (
	"fmt"
	"strings"
)

// RecordPlan is how a record is kept fresh.
type RecordPlan struct {
	Name string `json:"name"`
	// Key is how one is named.
	Key   string `json:"key"`
	Asked string `json:"asked"`
	// First are the records that are asked for before, where they are not fresh.
	First []string `json:"first,omitempty"`
	Fresh string   `json:"fresh"`
	Kept  string   `json:"kept"`
}

func (f *File) explainRecords(e *Explanation) {
	if !f.Keyed() {
		return
	}
	e.Target = ""
	l, _, _ := keptRate(f.Rations)
	e.Granted = fmt.Sprintf("%d calls a second, %d at once, %d a second before anybody asks", l.Rate, l.Burst, l.LowRate)
	if l.Daily > 0 {
		e.Granted += fmt.Sprintf("; %d a day, of which %d are left to those who ask", l.Daily, l.DailyReserve)
	}
	e.Tiers = fmt.Sprintf("every %s what was read in the last day, every %s in the last week, every %s all else", f.tiers.Hot, f.tiers.Warm, f.tiers.Cold)
	for _, r := range f.Records {
		p := RecordPlan{Name: r.Name, Key: r.Name + ":KEY", Asked: r.request.text(), Fresh: "as the setting fresh-for says", Kept: "the whole answer"}
		p.Asked = strings.TrimSuffix(p.Asked, ", one page")
		if r.fresh > 0 {
			p.Fresh = "for " + r.fresh.String()
		}
		if len(r.keep) > 0 {
			p.Kept = strings.Join(r.keep, ", ")
		}
		for _, need := range r.needs {
			p.First = append(p.First, fmt.Sprintf("%s, for its %s", need.of.Name, need.field))
		}
		e.Records = append(e.Records, p)
	}
}
