package server

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A server starts while its file store is away. Memories are written, files are refused, and work again later.
func TestServerStartsWithoutItsFileStore(t *testing.T) {
	t.Parallel()
	dir := storetest.NewDir(t)
	obstacle := filepath.Join(dir, backup.FilesFolder)
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	key := addKey(t, dir, "ann@example.com")
	metrics := freeAddress(t)
	url, _, log, _ := start(t, map[string]string{"data": dir, "metrics-listen": metrics})
	c, err := client.New(url, client.WithKey(key), client.WithRetry(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	waitForText(t, log, "the file store does not answer")
	m, err := c.MemoryCreate(t.Context(), loci.CreateMemory{Content: "written meanwhile"})
	if err != nil {
		t.Fatal(err)
	}
	upload := loci.UploadAttachment{MemoryID: m.Memory.ID, FileName: "a", MIMEType: "text/plain", Size: 5}
	if _, err := c.AttachmentUpload(t.Context(), upload); !loci.Is(err, loci.CodeUnavailable) ||
		loci.AsError(err).RetryAfter == 0 {
		t.Errorf("%v", err)
	}
	up := func() string {
		res, err := testenv.Client.Get("http://" + metrics + "/metrics") // #nosec: an address of the test
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		_, value, _ := strings.Cut(string(text), "\nloci_files_up ")
		return value[:1]
	}
	if got := up(); got != "0" {
		t.Errorf("loci_files_up is %s", got)
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	waitForText(t, log, "the file store answers again")
	announced, err := c.AttachmentUpload(t.Context(), upload)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.PutFile(t.Context(), announced, strings.NewReader("hello")); err != nil {
		t.Fatal(err)
	}
	if got := up(); got != "1" {
		t.Errorf("loci_files_up is %s", got)
	}
}

func TestBucketSettingsAreChecked(t *testing.T) {
	t.Parallel()
	keys := []string{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"}
	for blobs, want := range map[string]string{"": "", "file": "", "s3://bucket/prefix?path=1&region=x": "",
		"s3://bucket?colour=red": "colour", "s3://bucket?path=yes": "path", "s3://": "s3://BUCKET",
		"https://x": "s3://BUCKET", "s3://b?endpoint=ftp://h": "endpoint"} {
		s, _, err := Load(map[string]string{"data": "x"}, append(keys, "LOCI_BLOBS="+blobs))
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), "LOCI_BLOBS") ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", blobs, err)
		}
		if b, err := s.openBucket(); want == "" && (err != nil || strings.Contains(fmt.Sprint(b), "AWS")) {
			t.Errorf("%q: %v, %v", blobs, b, err)
		}
	}
	if _, _, err := Load(map[string]string{"data": "x"}, []string{"LOCI_BLOBS=s3://b"}); err == nil ||
		!strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without keys: %v", err)
	}
	for size, valid := range map[string]bool{"1": true, "0": false, "-1": false, "1.5": false, "100 MiB": false,
		"5368709120": true, "5368709121": false} {
		if _, _, err := Load(map[string]string{"data": "x"}, []string{"LOCI_MAX_FILE=" + size}); (err == nil) != valid {
			t.Errorf("LOCI_MAX_FILE=%s: %v", size, err)
		}
	}
}
