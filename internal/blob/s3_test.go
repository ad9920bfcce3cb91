package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
)

// gateway is the server that speaks the protocol of S3 for the tests of this package.
var gateway = sync.OnceValues(startGateway)

// stopGateway ends the server that was started.
var stopGateway = func() {}

// The keys of the gateway.
const testKey, testSecret = "loci-test-key", "loci-test-secret"

// A runningGateway is versitygw over a folder.
type runningGateway struct{ address string }

// startGateway starts the program that scripts/setup builds, if it is there.
func startGateway() (*runningGateway, error) {
	program, err := filepath.Abs("../../scripts/judges/s3/versitygw")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(program); err != nil {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "loci-s3-")
	if err != nil {
		return nil, err
	}
	objects, sidecar := filepath.Join(dir, "objects"), filepath.Join(dir, "sidecar")
	if err := errors.Join(os.Mkdir(objects, 0o700), os.Mkdir(sidecar, 0o700)); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	l.Close()
	cmd := exec.Command(program, "--access", testKey, "--secret", testSecret, "--port", address, "--quiet",
		"--virtual-domain", "localhost"+address[strings.LastIndexByte(address, ':'):], "posix", "--sidecar", sidecar,
		objects)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &runningGateway{address}
	stopGateway = func() { cmd.Process.Kill(); cmd.Wait(); os.RemoveAll(dir) }
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			return g, nil
		}
		if time.Now().After(end) {
			return nil, err
		}
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	stopGateway()
	os.Exit(code)
}

// keysOnly is an environment with the keys of the gateway.
func keysOnly(name string) string {
	return map[string]string{"AWS_ACCESS_KEY_ID": testKey, "AWS_SECRET_ACCESS_KEY": testSecret}[name]
}

// newS3 returns a new bucket of the gateway.
func newS3(t *testing.T, parameters string) *S3 {
	t.Helper()
	g, err := gateway()
	if err != nil {
		t.Fatal(err)
	}
	if g == nil && os.Getenv("LOCI_TEST_REQUIRE") == "all" {
		t.Fatal("versitygw is missing: run scripts/setup")
	}
	if g == nil {
		t.Skip("versitygw is missing: scripts/setup builds it")
	}
	name := strings.ToLower("b" + rand.Text()[:12])
	host := "localhost" + g.address[strings.LastIndexByte(g.address, ':'):]
	b, err := openS3(fmt.Sprintf("s3://%s/files?endpoint=http://%s&%s", name, host, parameters), keysOnly,
		&http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, g.address) // buckets are subdomains of localhost
		}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.client.MakeBucket(context.Background(), name, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSettingsOfS3AreRefusedByName(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"s3://":                      "must be s3://BUCKET",
		"s3:///x":                    "must be s3://BUCKET",
		"https://b":                  "must be s3://BUCKET",
		"s3://b?acl=x":               `unknown parameter "acl"`,
		"s3://b?path=2":              "path=2",
		"s3://b?direct=yes":          "direct=yes",
		"s3://b?region=a&region=b":   "region twice",
		"s3://b?endpoint=ftp://host": `endpoint "ftp://host"`,
		"s3://b?endpoint=h/x":        `endpoint "h/x"`,
		"s3://b?endpoint=u@h":        `endpoint "u@h"`,
		"s3://u:p@b":                 "must be s3://BUCKET",
		"s3://b?x=%zz":               "cannot be read",
		"s3://b":                     `bucket "b"`,
		"s3://127.0.0.1/x":           `bucket "127.0.0.1"`,
	} {
		if b, err := OpenS3(address, keysOnly); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", address, b, err, want)
		}
	}
	if _, err := OpenS3("s3://b", func(string) string { return "" }); err == nil ||
		!strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without keys: %v", err)
	}
	b, err := OpenS3("s3://bkt/x/?endpoint=https://h:1&path=1&direct=1&region=eu-1", keysOnly)
	if err != nil || b.String() != "bucket s3://bkt/x of h:1" || Direct(b) == nil {
		t.Errorf("%v %v", b, err)
	}
}
