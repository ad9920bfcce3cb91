package cli

import (
	"testing"

	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestFilesMoveRefusesBadStores(t *testing.T) {
	t.Parallel()
	_, run := newAdmin(t)
	for to, says := range map[string]string{"file": "are in the folder", "ftp://x": "--to: must be file, or",
		"s3://bucket": "AWS_ACCESS_KEY_ID", "s3://": "--to: must be s3://BUCKET"} {
		expectText(t, run(exitFailure, "files", "move", "--to", to), says)
	}
	expectText(t, run(exitUsage, "files", "move"), "--to is required")
	expectText(t, run(exitFailure, "files", "move", "--from", "x", "--to", "file"), "--from: ")
}

// A server saves the address of its bucket, and the commands of its operator may have no keys.
func TestCommandsWorkWithoutKeysOfBucket(t *testing.T) {
	t.Parallel()
	dir, run := newAdmin(t)
	storetest.Database{Dir: dir}.Write(t, `INSERT INTO metadata (name, value)
		VALUES ('settings', '{"blobs":"s3://bucket"}')`)
	run(exitOK, "user", "list")
	expectText(t, run(exitFailure, "check"), "objects: the file store cannot be read",
		"LOCI_BLOBS of the server: needs keys")
	expectText(t, run(exitFailure, "files", "move", "--to", "file"), "needs keys")
}
