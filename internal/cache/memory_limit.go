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

// FitMemory limits the collector of Go to the memory of the process, and returns a number of bytes for caches, or a
// quarter of that memory where it is less. The memory is that of GOMEMLIMIT, or of a control group below root, the file
// system of the machine.
func FitMemory(bytes int, root fs.FS) int {
	caches, collector := fitMemory(bytes, debug.SetMemoryLimit(-1), groupLimit(root))
	debug.SetMemoryLimit(collector)
	return caches
}

// fitMemory lets the collector work harder near the limit of a control group: five eighths of it, because SQLite, the
// model and stacks need the rest. A limit of GOMEMLIMIT stays.
func fitMemory(bytes int, present, group int64) (caches int, collector int64) {
	caches = int(min(int64(bytes), min(present, group)/budgetShare))
	if present == math.MaxInt64 && group < math.MaxInt64 {
		return caches, group / 8 * 5
	}
	return caches, present
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
