package relevance

import (
	"os"
	"runtime"
	"strings"
)

// Processor returns the name of the processor of this machine, or its architecture.
func Processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // without the file the architecture is returned
	for l := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(l, "model name"); ok {
			return strings.Trim(name, "\t :\n")
		}
	}
	return runtime.GOARCH
}
