package redis

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/dispatch"
)

// Stats implements dispatch.Dispatcher. It lists the lanes by name, those that
// have something ready, have something leased, or are parked; the end of a
// parking counts as a waiting instant. What was put into a stream for somebody
// who waits there counts as leased.
func (d *Dispatcher) Stats(ctx context.Context) (dispatch.Stats, error) {
	m, err := d.run(ctx, dispatchScripts.stats)
	if err != nil {
		return dispatch.Stats{}, err
	}
	values, err := m.ToArray()
	if err != nil {
		return dispatch.Stats{}, failure(err)
	}
	all, err := parseStats(values)
	return all, failure(err)
}

func parseStats(values []rueidis.RedisMessage) (all dispatch.Stats, err error) {
	number := func(m rueidis.RedisMessage) int {
		n, problem := m.AsInt64()
		err = cmp.Or(err, problem)
		return int(n)
	}
	all = dispatch.Stats{
		Ready: number(values[0]), Due: number(values[1]), Leased: number(values[2]), NextDue: instantOf(number(values[3])),
	}
	for lane := range slices.Chunk(values[4:], 4) {
		name, problem := lane[0].ToString()
		err = cmp.Or(err, problem)
		all.Lanes = append(all.Lanes, dispatch.LaneStats{
			Lane: name, Ready: number(lane[1]), Leased: number(lane[2]), ParkedUntil: instantOf(number(lane[3])),
		})
	}
	slices.SortFunc(all.Lanes, func(a, b dispatch.LaneStats) int { return cmp.Compare(a.Lane, b.Lane) })
	return all, err
}

// instantOf is the instant of a script's milliseconds, zero for none.
func instantOf(ms int) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}
