// Package blobtest runs a server of S3 for tests.
package blobtest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/testenv"
)

// The keys of a gateway.
const Key, Secret = "loci-test-key", "loci-test-secret"

// Keys is an environment with the keys of a gateway.
func Keys(name string) string {
	return map[string]string{"AWS_ACCESS_KEY_ID": Key, "AWS_SECRET_ACCESS_KEY": Secret}[name]
}

// A Gateway is versitygw over a folder.
type Gateway struct {
	Address string // host and port
	Dir     string // of the buckets, each a folder

	stop func()
}

// Start starts the program that scripts/setup builds. Without it the result is nil.
func Start() (*Gateway, error) {
	program, err := findProgram()
	if program == "" || err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "loci-s3-")
	if err != nil {
		return nil, err
	}
	objects, sidecar := filepath.Join(dir, "objects"), filepath.Join(dir, "sidecar")
	if err := errors.Join(os.Mkdir(objects, 0o700), os.Mkdir(sidecar, 0o700)); err != nil {
		return nil, err
	}
	address, err := testenv.FreeAddress()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "--access", Key, "--secret", Secret, "--port", address, "--quiet",
		"--virtual-domain", "localhost"+address[strings.LastIndexByte(address, ':'):], "posix", "--sidecar", sidecar,
		objects)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &Gateway{address, objects, func() { cmd.Process.Kill(); cmd.Wait(); os.RemoveAll(dir) }}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return g, c.Close()
		}
		if time.Now().After(end) {
			g.Stop()
			return nil, err
		}
	}
}

// findProgram returns the path of versitygw, or "".
func findProgram() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		program := filepath.Join(dir, "scripts", "judges", "s3", "versitygw")
		if _, err = os.Stat(program); err == nil {
			return program, nil
		}
		if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
			dir, err = parent, nil
		} else if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
	}
	return "", err
}

// Stop ends the gateway. It does nothing without one.
func (g *Gateway) Stop() {
	if g != nil {
		g.stop()
	}
}

// Require skips the test without a gateway. It fails where versitygw is required.
func Require(t testing.TB, g *Gateway, err error) {
	t.Helper()
	switch {
	case err != nil:
		t.Fatal(err)
	case g == nil:
		testenv.Absent(t, "versitygw", "scripts/setup builds it")
	}
}

// NewBucket returns the address of a new bucket, whose gateway ends with the test.
func NewBucket(t testing.TB) (address string) {
	t.Helper()
	g, err := Start()
	t.Cleanup(g.Stop)
	Require(t, g, err)
	name := strings.ToLower("b" + rand.Text()[:12])
	if err := os.Mkdir(filepath.Join(g.Dir, name), 0o700); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("s3://%s/files?endpoint=http://%s&path=1", name, g.Address)
}
