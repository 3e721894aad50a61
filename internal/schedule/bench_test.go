package schedule_test

import (
	"testing"
	"time"

	"sluice/internal/schedule"
)

func BenchmarkNext(b *testing.B) {
	for name, text := range map[string]string{
		"reset": `{}`,
		"every": `{"every":"6h","quiet":"22:00-06:00 UTC"}`,
		"cron":  `{"cron":"0 3 * * *","zone":"Europe/Berlin"}`,
		"year":  `{"cron":"* * 29 2 *","zone":"Europe/Berlin"}`,
	} {
		b.Run(name, func(b *testing.B) {
			p, err := schedule.Parse([]byte(text))
			if err != nil {
				b.Fatal(err)
			}
			now, account := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC), int64(0)
			for b.Loop() {
				account++
				if schedule.Next(p, schedule.Ended{Account: account, RunBegan: now, Now: now}).None() {
					b.Fatal("nothing is planned")
				}
			}
		})
	}
}
