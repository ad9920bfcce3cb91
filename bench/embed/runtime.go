//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// embeddedFiles are the files in Python, and the library that hides AVX-512.
//
//go:embed worker.py graph.py requirements.txt hide/noavx512.c
var embeddedFiles embed.FS

// An onnxProcess is a process of Python with ONNX Runtime; see worker.py.
type onnxProcess struct {
	version string
	name    string // of its sides, after "ort"
	process *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
}

// startRuntime starts a process, from which AVX-512 may be hidden.
func startRuntime(ctx context.Context, withoutAVX512 bool) (*onnxProcess, error) {
	dir, err := install(ctx)
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, filepath.Join(dir, "bin", "python"), "-B", filepath.Join(dir, "worker.py"))
	c.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	o := &onnxProcess{process: c}
	if withoutAVX512 {
		o.name = " without avx512"
		library, err := buildHideLibrary(ctx, dir)
		if err != nil {
			return nil, err
		}
		c.Env = append(c.Env, "LD_PRELOAD="+library)
	}
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	o.in, o.out = in, json.NewDecoder(bufio.NewReader(out))
	var hello struct{ Version string }
	if err := o.out.Decode(&hello); err != nil {
		o.close()
		return nil, fmt.Errorf("its process says nothing: %w", err)
	}
	o.version = hello.Version
	return o, nil
}

func (o *onnxProcess) close() {
	_ = o.in.Close() // which ends it
	_ = o.process.Wait()
}

// side returns one of the process's models.
func (o *onnxProcess) side(model string) side {
	return side{"ort " + model + o.name, func(_ context.Context, text string, runs int) (float64, []float32, error) {
		question := map[string]any{"model": model, "text": text, "runs": runs}
		if err := json.NewEncoder(o.in).Encode(question); err != nil {
			return 0, nil, fmt.Errorf("ask ONNX Runtime: %w", err)
		}
		var answer struct {
			Milliseconds float64
			Vector       []float32
		}
		if err := o.out.Decode(&answer); err != nil {
			return 0, nil, fmt.Errorf("ONNX Runtime does not answer: %w", err)
		}
		return answer.Milliseconds, answer.Vector, nil
	}}
}

// install returns a folder with a Python environment and the files. It reuses an equal folder of an earlier run.
func install(ctx context.Context) (string, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return "", errors.New("there is no python3")
	}
	sum := sha256.New()
	names := []string{"worker.py", "graph.py", "requirements.txt"}
	for _, name := range names {
		text, _ := embeddedFiles.ReadFile(name) // is in the program
		sum.Write(text)
	}
	dir := filepath.Join(os.TempDir(), "loci-bench", fmt.Sprintf("onnx-%x", sum.Sum(nil)[:6]))
	if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
		return dir, nil
	}
	fmt.Fprintln(os.Stderr, "embed: installing ONNX Runtime and the model (150 MB) into", dir)
	if err := installInto(ctx, python, dir, names); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// buildHideLibrary builds the library that hides AVX-512.
func buildHideLibrary(ctx context.Context, dir string) (library string, err error) {
	source, library := filepath.Join(dir, "noavx512.c"), filepath.Join(dir, "noavx512.so")
	text, err := embeddedFiles.ReadFile("hide/noavx512.c")
	if err == nil {
		err = os.WriteFile(source, text, 0o600)
	}
	if err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, "cc", "-shared", "-fPIC", "-O2", "-o", library,
		source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("cc: %w: %.500s", err, out)
	}
	return library, nil
}

func installInto(ctx context.Context, python, dir string, names []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		text, err := embeddedFiles.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	if out, err := exec.CommandContext(ctx, python, "-m", "venv", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("python3 -m venv: %w: %s", err, out)
	}
	pip := exec.CommandContext(ctx, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "-q",
		"--disable-pip-version-check",
		"--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", filepath.Join(dir, "requirements.txt"))
	if out, err := pip.CombinedOutput(); err != nil {
		return fmt.Errorf("pip install: %w: %.500s", err, out)
	}
	return os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600)
}
