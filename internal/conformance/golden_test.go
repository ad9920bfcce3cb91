package conformance_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares the printed bytes with the file, or writes it with -update.
func golden(t testing.TB, file string, got []byte) {
	t.Helper()
	if *update {
		testenv.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		testenv.NoError(t, os.WriteFile(file, got, 0o644))
	}
	if want := testenv.Must(os.ReadFile(file))(t); !bytes.Equal(got, want) {
		t.Errorf("%s is another one now: look at what has changed, then make golden.\n%s", file, difference(want, got))
	}
}

// difference returns the first line that differs.
func difference(want, got []byte) string {
	w, g := bytes.Split(want, []byte("\n")), bytes.Split(got, []byte("\n"))
	for i := range max(len(w), len(g)) {
		var a, b []byte
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if !bytes.Equal(a, b) {
			return "was " + string(a) + "\nis  " + string(b)
		}
	}
	return ""
}
