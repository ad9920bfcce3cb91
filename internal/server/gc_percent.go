package server

import (
	"context"
	"os"
	"runtime/debug"
	gauge "runtime/metrics"
	"time"
)

// minHeapGrowth is by how much the heap may grow before it is collected. By the
// usual rule a heap of a few megabytes is collected every few hundred calls,
// and a tenth of the processor time of a write goes there.
const minHeapGrowth = 32 << 20

// gcPercent returns the percentage by which a heap with that many live bytes
// may grow (runtime/debug.SetGCPercent). At most half of a large heap is garbage
// that is not collected yet: the caches fill over hours, and each of their bytes
// would else take two.
func gcPercent(live uint64) int {
	return int(min(800, max(50, minHeapGrowth*100/max(live, 1))))
}

// TuneGC keeps the pace of the collector at heapGrowth until ctx ends,
// unless the operator has set one.
func TuneGC(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	live := []gauge.Sample{{Name: "/gc/heap/live:bytes"}}
	for now := 100; ; {
		gauge.Read(live)
		// To set it stops the world for a moment: small changes are not worth it.
		if next := gcPercent(live[0].Value.Uint64()); next > now+now/8 || next < now-now/8 {
			now = next
			debug.SetGCPercent(now)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			debug.SetGCPercent(100)
			return
		}
	}
}
