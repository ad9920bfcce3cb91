package cache

import (
	"math"
	"testing"
	"testing/fstest"

	"github.com/loci-memory/loci/internal/testenv"
)

func TestGroupLimitIsTheLeastOfAllGroups(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no control groups", nil, math.MaxInt64},
		{"no limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"},
			math.MaxInt64},
		{"a container", map[string]string{"proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20},
		{"a service in a slice", map[string]string{"proc/self/cgroup": "0::/system.slice/loci.service\n",
			"sys/fs/cgroup/system.slice/loci.service/memory.max": "max\n",
			"sys/fs/cgroup/system.slice/memory.max":              "1073741824\n"}, 1 << 30},
		{"version 1", map[string]string{"proc/self/cgroup": "5:cpu:/a\n4:memory:/a\n0::/\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "104857600\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n"}, 100 << 20},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		testenv.Equal(t, groupLimit(root), c.want, c.name)
	}
}

func TestBudgetIsAtMostAQuarterOfTheMemory(t *testing.T) {
	t.Parallel()
	root := fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/\n")},
		"sys/fs/cgroup/memory.max": {Data: []byte("100000000\n")}}
	testenv.Equal(t, FitMemory(DefaultBytes, root), 25_000_000, "in a small container")
	testenv.Equal(t, FitMemory(1<<20, root), 1<<20, "a small budget")
}

func TestCollectorLeavesRoomInTheControlGroup(t *testing.T) {
	t.Parallel()
	container := fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/\n")},
		"sys/fs/cgroup/memory.max": {Data: []byte("67108864\n")}}
	testenv.Equal(t, collectorLimit(math.MaxInt64, container), 40<<20, "in a container of 64 MiB")
	testenv.Equal(t, collectorLimit(50<<20, container), 50<<20, "with GOMEMLIMIT")
	testenv.Equal(t, collectorLimit(math.MaxInt64, fstest.MapFS{}), math.MaxInt64, "without a control group")
}
