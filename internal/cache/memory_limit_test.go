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

func TestCachesAndCollectorFitIntoTheMemory(t *testing.T) {
	t.Parallel()
	const none = math.MaxInt64
	for _, c := range []struct {
		name           string
		present, group int64
		wantCaches     int
		wantCollector  int64
	}{
		{"without a limit", none, none, DefaultBytes, none},
		{"in a small container", none, 64 << 20, 16 << 20, 40 << 20},
		{"in a large container", none, 8 << 30, DefaultBytes, 5 << 30},
		{"with GOMEMLIMIT", 48 << 20, 64 << 20, 12 << 20, 48 << 20},
	} {
		caches, collector := fitMemory(DefaultBytes, c.present, c.group)
		testenv.Equal(t, caches, c.wantCaches, c.name)
		testenv.Equal(t, collector, c.wantCollector, c.name)
	}
}
