package relevance

import (
	"os"
	"runtime"
	"strings"
)

// Processor names the processor of this machine, or its architecture.
func Processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // absent: then it has no name
	for l := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(l, "model name"); ok {
			return strings.Trim(name, "\t :\n")
		}
	}
	return runtime.GOARCH
}
