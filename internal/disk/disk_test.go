package disk

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestFreeBytesOfAbsentPathAreThoseAboveIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "not", "yet")} {
		if n := FreeBytes(path); n < 0 && runtime.GOOS == "linux" || n == 0 {
			t.Errorf("%s has %d free bytes", path, n)
		}
	}
}
