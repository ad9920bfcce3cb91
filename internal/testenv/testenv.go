package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Whole reports whether tests that sample in an ordinary run are to run every case: LOCI_TEST_WHOLE is 1.
func Whole() bool { return os.Getenv("LOCI_TEST_WHOLE") == "1" }

// Requires reports whether a test fails, rather than being skipped, where an engine or a program is absent. The list in
// LOCI_TEST_REQUIRE names it, e.g. pg18,versitygw, or says all.
func Requires(name string) bool {
	list := strings.Split(os.Getenv("LOCI_TEST_REQUIRE"), ",")
	return slices.Contains(list, name) || slices.Contains(list, "all")
}

// Absent skips the test because an engine or a program is absent. It fails the test if the run requires it.
func Absent(t testing.TB, name, reason string) {
	t.Helper()
	if Requires(name) {
		t.Fatalf("%s is required: %s", name, reason)
	}
	t.Skipf("%s is absent: %s", name, reason)
}

// built is the program that this process has linked, in a folder that the last test which uses it removes.
var built struct {
	sync.Mutex
	path  string
	users int
}

// Program returns the path of the linked program of Loci: the one in LOCI_TEST_BIN, or one that it links with the tags
// of the test. Tests that run at the same time share it.
func Program(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("LOCI_TEST_BIN"); path != "" {
		return path
	}
	built.Lock()
	defer built.Unlock()
	if built.path == "" {
		built.path = link(t)
	}
	built.users++
	t.Cleanup(func() {
		built.Lock()
		defer built.Unlock()
		if built.users--; built.users == 0 {
			os.RemoveAll(filepath.Dir(built.path))
			built.path = ""
		}
	})
	return built.path
}

func link(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "loci-program")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "loci")
	args := []string{"build", "-ldflags=-w", "-o", path}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "-tags" {
				args = append(args, "-tags", s.Value)
			}
		}
	}
	args = append(args, "github.com/loci-memory/loci/cmd/loci")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}
