package redis_test

import (
	"strings"
	"strconv"
	"syscall"
	"testing"
	"time"
	"sluice/internal/quota"
	"sluice/internal/quota/redis"
	"sluice/internal/redisdb"
	"sluice/internal/testkit"
)

func cpu(b *testing.B, db *redisdb.DB) (server, client float64) {
	info, _ := db.Client.Do(b.Context(), db.Client.B().Info().Section("cpu").Build()).ToString()
	for _, l := range strings.Split(info, "\r\n") {
		if k, v, ok := strings.Cut(l, ":"); ok && (k == "used_cpu_sys" || k == "used_cpu_user") {
			f, _ := strconv.ParseFloat(v, 64)
			server += f
		}
	}
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return server*1e6, float64(r.Utime.Nano()+r.Stime.Nano())/1e3
}

func BenchmarkTmp(b *testing.B) {
	for _, owners := range []int{1, 100} {
	for _, what := range []string{"bare", "reserve", "pair"} {
		b.Run(strconv.Itoa(owners)+what, func(b *testing.B) {
			s := testkit.StartRedis(b)
			db := connect(b, s.URL())
			k := redis.New(db, benchConfig(), redis.Options{})
			script := rueidisLua()
			reset := time.Now().Add(time.Hour).Truncate(time.Second)
			s0, c0 := cpu(b, db)
			together(b, func(n int64) error {
				o := "o"+strconv.Itoa(int(n)%owners)
				if what == "bare" {
					return script.Exec(b.Context(), db.Client, []string{o}, []string{"1000000000", "1000000000"}).Error()
				}
				p, err := reserve(b, k, o)
				if what == "pair" {
					_, err = k.Settle(b.Context(), p, quota.Response{
						Known: true, Limit: 1 << 40, Remaining: 1 << 39, Reset: reset, Date: p.GrantedAt.Truncate(time.Second),
					})
				}
				return err
			})
			s1, c1 := cpu(b, db)
			b.ReportMetric((s1-s0)/float64(b.N), "server_us")
			b.ReportMetric((c1-c0)/float64(b.N), "client_us")
		})
	}
	}
}
