package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// generated returns the current output of the generator, without the first line, which has the command.
func generated(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"-out": "simd_amd64.s", "-stubs": "simd_amd64.go"}
	args := []string{"run", ".", "-pkg", "kernel"}
	for flag, name := range files {
		args = append(args, flag, filepath.Join(dir, name))
	}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	texts := map[string]string{}
	for _, name := range files {
		texts[name] = body(t, filepath.Join(dir, name))
	}
	return texts
}

func body(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := bytes.Cut(text, []byte("\n"))
	return string(after)
}

func TestFilesMatchGenerator(t *testing.T) {
	t.Parallel()
	for name, text := range generated(t) {
		if body(t, filepath.Join("..", name)) != text {
			t.Errorf("%s is not what the generator prints: run go generate in internal/embed/kernel", name)
		}
	}
}

// The assembler silently encodes an AVX2 instruction with a register beyond the sixteenth as one of AVX-512.
func TestAVX2HasSixteenRegisters(t *testing.T) {
	t.Parallel()
	beyond := regexp.MustCompile(`\b([XY](1[6-9]|[23]\d)|Z\d+|K[0-7])\b`)
	functions := strings.Split(body(t, "../simd_amd64.s"), "\nTEXT ·")[1:]
	seen := 0
	for _, f := range functions {
		name, code, _ := strings.Cut(f, "(SB)")
		if !strings.HasSuffix(name, "AVX2") {
			continue
		}
		seen++
		if found := beyond.FindString(code); found != "" {
			t.Errorf("%s uses %s", name, found)
		}
	}
	if seen < 9 {
		t.Errorf("%d functions for AVX2", seen)
	}
}

// The Go caller may continue with SSE code, which is slow while the upper halves of registers are in use.
func TestEveryReturnClearsUpperHalves(t *testing.T) {
	t.Parallel()
	code := body(t, "../simd_amd64.s")
	if all, clean := strings.Count(code, "\tRET\n"), strings.Count(code, "\tVZEROUPPER\n\tRET\n"); all != clean ||
		all == 0 {
		t.Errorf("%d of %d returns come after VZEROUPPER", clean, all)
	}
}
