package blob

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/loci-memory/loci/internal/blob/blobtest"
	"github.com/loci-memory/loci/internal/testenv"
)

// gateway is the server that speaks the protocol of S3 for the tests of this package.
var gateway = sync.OnceValues(func() (g *blobtest.Gateway, err error) {
	g, err = blobtest.Start()
	stopGateway = g.Stop
	return g, err
})

// stopGateway ends the server that was started.
var stopGateway = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	stopGateway()
	os.Exit(code)
}

// keysOnly is an environment with the keys of the gateway.
var keysOnly = blobtest.Keys

// newS3 returns a new bucket of the gateway.
func newS3(t *testing.T, parameters string) *S3 {
	t.Helper()
	g, err := gateway()
	blobtest.Require(t, g, err)
	name := strings.ToLower("b" + rand.Text()[:12])
	host := "localhost" + g.Address[strings.LastIndexByte(g.Address, ':'):]
	b := testenv.Must(openS3(fmt.Sprintf("s3://%s/files?endpoint=http://%s&%s", name, host, parameters), keysOnly,
		&http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, g.Address) // buckets are subdomains of localhost
		}}))(t)
	testenv.NoError(t, b.client.MakeBucket(context.Background(), name, minio.MakeBucketOptions{}))
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
