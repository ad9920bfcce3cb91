package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// TestReadmeRunsAsPrinted runs the blocks of README.md one after another in an empty home, as one shell. The program is
// installed already, the server runs beside, and the login by browser is one by key.
func TestReadmeRunsAsPrinted(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "grep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("README needs " + tool)
		}
	}
	readme := string(testenv.Must(os.ReadFile("../../README.md"))(t))
	const key = `loci admin user create --email first@example.com
loci admin key create --email first@example.com --json | grep -o 'loci_live_[A-Za-z0-9]*' |
  loci login http://127.0.0.1:7007 --key -`
	replaced := map[string]string{
		"go install ./cmd/loci": "true",
		"loci serve": `loci serve --listen 127.0.0.1:7007 >serve.log 2>&1 & trap "kill $!; wait $!" EXIT
until curl -fs http://127.0.0.1:7007/health >/dev/null; do kill -0 $!; sleep 0.1; done`,
		"loci login http://127.0.0.1:7007": key,
	}
	script := "set -euo pipefail\n"
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(readme, -1) {
		if other, ok := replaced[strings.TrimSpace(block[1])]; ok {
			delete(replaced, strings.TrimSpace(block[1]))
			block[1] = other + "\n"
		}
		script += "echo '--'\n" + block[1]
	}
	testenv.Len(t, replaced, 0, "README has other blocks now")
	address := testenv.Must(testenv.FreeAddress())(t)
	home := t.TempDir()
	run := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(script, "127.0.0.1:7007", address))
	run.Dir = home
	run.Env = []string{"HOME=" + home, "PATH=" + linkProgram(t) + ":" + os.Getenv("PATH"), "LOCI_DRAIN=0"}
	out, err := run.CombinedOutput()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(home, "serve.log")) // for the reader of a failure
		t.Fatalf("%v\n%s\n%s", err, out, log)
	}
	for _, want := range []string{"The staging host is called basalt.", "CLIENT", "Backups",
		"Releases are built on Tuesdays."} {
		testenv.Contains(t, string(out), want)
	}
}

// linkProgram returns a folder that has the program under its name.
func linkProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(testenv.Program(t), filepath.Join(dir, "loci")); err != nil {
		t.Fatal(err)
	}
	return dir
}
