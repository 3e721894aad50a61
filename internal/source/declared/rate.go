package declared

import (
	"fmt"
	"time"

	"sluice/internal/quota/rate"
	"sluice/internal/ration"
)

// late is how much later than granted a call may leave, in seconds: what was granted
// in a longer while arrives in one window.
const late = 0.05

// keptRate is what rations are to the keeper of keyed records, which grants so many
// calls a second and so many a day. What it cannot keep so is told with the ration's
// name.
func keptRate(rations []ration.Ration) (l rate.Limits, name, wrong string) {
	day := int64(0)
	for i := range rations {
		r := &rations[i]
		window := r.Every.Length.Seconds()
		switch {
		case r.Unit != ration.UnitCalls || r.Cost > 1 || !r.Actual.IsZero():
			return l, r.Name, "records count calls, each for one"
		case len(r.Match) > 0 || len(r.Counts) > 0:
			return l, r.Name, "all calls for records draw on all rations; match cannot be kept"
		case r.Calls <= 0:
			return l, r.Name, "it does not say how many calls there are, and answers cannot say it"
		case r.Every.Part == ration.Day:
			if usable := int64(r.Usable()); day == 0 || usable < day {
				day, l.Daily, l.DailyReserve, l.Zone = usable, usable, int64(r.Usable()-r.UsableLow()), r.Every.Zone
			}
			continue
		case r.Every.Part != "" || r.Shape != ration.Fixed && r.Shape != ration.Sliding || r.Every.Length < time.Second:
			return l, r.Name, fmt.Sprintf("%s of %s cannot be kept; windows of a second or more can, fixed or sliding, and the calendar's day", r.Shape, r.Every)
		}
		// In no window more than it has, though calls are granted evenly: a burst, and
		// then so many a second.
		perSecond := float64(r.Calls) / window
		burst := max(1, int(perSecond/20))
		grants := min(int((float64(r.Calls-burst)+1-1e-9)/(window+late)), int(float64(r.Usable())/window))
		if grants < 1 {
			return l, r.Name, fmt.Sprintf("%d calls every %s are less than two a second, which is the least that can be kept", r.Calls, r.Every)
		}
		hard, low := grants+burst, max(1, min(grants, int(float64(r.UsableLow())/window)))
		if r.Every.Length == time.Second {
			hard = r.Calls
		}
		if l.Rate == 0 {
			l.Hard, l.Rate, l.Burst, l.LowRate = hard, grants, burst, low
		}
		// What is within each is within the least of all.
		l.Hard, l.Rate, l.Burst, l.LowRate = min(l.Hard, hard), min(l.Rate, grants), min(l.Burst, burst), min(l.LowRate, low)
	}
	if l.Rate == 0 {
		return l, "", "records need a ration of calls per second"
	}
	l.LowRate, l.LowBurst, l.Reserve = min(l.LowRate, l.Rate), l.Burst, min(max(1, l.Hard*3/100), l.Burst-1)
	if err := l.Check(); err != nil {
		return l, "", err.Error()
	}
	return l, "", ""
}
