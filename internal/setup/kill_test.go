package setup

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/testenv"
)

// TestMain runs a writer instead of the tests if the variable names a home folder: it adds and removes the entry until
// it is killed.
func TestMain(m *testing.M) {
	home := os.Getenv("LOCI_TEST_SETUP_HOME")
	if home == "" {
		os.Exit(m.Run())
	}
	c := Change{Client: Lookup("cursor"), Entry: "loci", Lock: filepath.Join(home, "lock"),
		System: System{OS: "linux", Env: func(string) string { return home }}}
	for {
		c.To = &connections[0].to
		if _, err := c.Run(context.Background()); err != nil {
			os.Exit(3)
		}
		c.To = nil
		if _, err := c.Run(context.Background()); err != nil {
			os.Exit(4)
		}
	}
}

func TestKilledWriterLeavesWholeFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := "{\n  \"padding\": \"" + strings.Repeat("x", 1<<20) + "\"\n}\n"
	path := w.write("cursor", before)
	w.run(w.change("cursor", &connections[0].to))
	after := readText(t, path)
	for i := range 10 {
		writer := exec.CommandContext(t.Context(), os.Args[0])
		writer.Env = append(os.Environ(), "LOCI_TEST_SETUP_HOME="+w.home)
		testenv.NoError(t, writer.Start())
		time.Sleep(time.Duration(40+13*i) * time.Millisecond)
		testenv.NoError(t, writer.Process.Kill())
		_ = writer.Wait() // killed
		if text := readText(t, path); text != before && text != after {
			t.Fatalf("run %d leaves a file of %d bytes", i, len(text))
		}
	}
	w.run(w.change("cursor", nil))
}
