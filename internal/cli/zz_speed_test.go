package cli
import ("testing";"time";"io";"runtime")
func TestZZSpeed(t *testing.T) {
	p := newProgram(t, 200_000)
	p.app.Out = io.Discard
	for _, f := range []string{"jsonl","csv","parquet"} {
		b := time.Now()
		p.run(0, "export", "--kind", "commits", "--format", f)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		t.Logf("%s %v sys %d MB", f, time.Since(b), m.Sys>>20)
	}
}
