package cache

import (
	"io/fs"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// budgetShare is the share of the memory of the process that caches may have at most: its other parts and the garbage
// before its collection need the rest.
const budgetShare = 4

// FitMemory returns a number of bytes, or a quarter of the memory of the process where that is less. The memory is that
// of GOMEMLIMIT, or of a control group below root, the file system of the machine.
func FitMemory(bytes int, root fs.FS) int {
	limit := min(debug.SetMemoryLimit(-1), groupLimit(root))
	return int(min(int64(bytes), limit/budgetShare))
}

// LimitCollector lets the collector of Go work harder near the limit of a control group below root, the file system of
// the machine: five eighths of it, because SQLite, the model and stacks need the rest. A limit of GOMEMLIMIT stays.
func LimitCollector(root fs.FS) {
	debug.SetMemoryLimit(collectorLimit(debug.SetMemoryLimit(-1), root))
}

func collectorLimit(present int64, root fs.FS) int64 {
	if group := groupLimit(root); present == math.MaxInt64 && group < math.MaxInt64 {
		return group / 8 * 5
	}
	return present
}

// groupLimit returns the least limit of the control groups of the process, of both versions of their interface.
func groupLimit(root fs.FS) int64 {
	limit := int64(math.MaxInt64)
	read := func(name string) {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return // this group has none
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil { // not "max"
			limit = min(limit, n)
		}
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // elsewhere there are none
	for line := range strings.Lines(string(groups)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		base, file := "sys/fs/cgroup", "memory.max"
		if controllers != "" {
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		if controllers != "" && controllers != "memory" {
			continue
		}
		for dir := path.Join("/", group); ; dir = path.Dir(dir) {
			read(path.Join(base, dir, file))
			if dir == "/" {
				break
			}
		}
	}
	return limit
}
