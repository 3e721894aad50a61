package memory_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// BenchmarkRationReserve reserves and settles calls that draw on one ration and on
// three.
func BenchmarkRationReserve(b *testing.B) {
	ask := keeper.Ask{Group: "bench", Gate: "owner"}
	for _, shape := range []ration.Shape{ration.Sliding, ration.Fixed, ration.Bucket} {
		r := &ration.Ration{
			Name: string(shape), Per: []ration.Dimension{ration.PerOwner}, Unit: ration.UnitCalls, Shape: shape, Calls: 1 << 40, Every: ration.Period{Length: time.Minute},
		}
		ask.Draws = append(ask.Draws, keeper.Draw{Ration: r, Part: "owner", Cost: 1})
	}
	for _, draws := range []int{1, 3} {
		b.Run(fmt.Sprintf("%d", draws), func(b *testing.B) {
			k, one := memory.NewRations(memory.RationsOptions{}), ask
			one.Draws = ask.Draws[:draws]
			b.ReportAllocs()
			for b.Loop() {
				d, err := k.Reserve(b.Context(), one)
				if err != nil || !d.Granted {
					b.Fatalf("%+v, %v", d, err)
				}
				if err := k.Settle(b.Context(), d.Permit, keeper.Outcome{Well: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
