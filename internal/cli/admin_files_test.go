package cli

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestFilesMoveRefusesBadStores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := adminRunner(t, dir)
	run(exitOK, "user", "create", "--email", "ada@example.org")
	for to, says := range map[string]string{"file": "are in the folder", "ftp://x": "--to: must be file, or",
		"s3://bucket": "AWS_ACCESS_KEY_ID", "s3://": "--to: must be s3://BUCKET"} {
		if text := run(exitFailure, "files", "move", "--to", to); !strings.Contains(text, says) {
			t.Errorf("%s: %s", to, text)
		}
	}
	if text := run(exitUsage, "files", "move"); !strings.Contains(text, "--to is required") {
		t.Error(text)
	}
	if text := run(exitFailure, "files", "move", "--from", "x", "--to", "file"); !strings.Contains(text, "--from: ") {
		t.Error(text)
	}
}

// A server saves the address of its bucket, and the commands of its operator may have no keys.
func TestCommandsWorkWithoutKeysOfBucket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := adminRunner(t, dir)
	run(exitOK, "user", "create", "--email", "ada@example.org")
	storetest.Database{Dir: dir}.Exec(t, `INSERT INTO metadata VALUES ('settings', '{"blobs":"s3://bucket"}')`)
	run(exitOK, "user", "list")
	if text := run(exitFailure, "check"); !strings.Contains(text, "objects: the file store cannot be read") ||
		!strings.Contains(text, "LOCI_BLOBS of the server: needs keys") {
		t.Error(text)
	}
	if text := run(exitFailure, "files", "move", "--to", "file"); !strings.Contains(text, "needs keys") {
		t.Error(text)
	}
}
