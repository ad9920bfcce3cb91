package backup_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/server/backup"
)

// A lastByteReader calls a function before it returns its last byte.
type lastByteReader struct {
	*bytes.Reader
	call func()
}

func (r lastByteReader) Read(p []byte) (int, error) {
	if len(p) >= r.Len() {
		r.call()
	}
	return r.Reader.Read(p)
}

// An error of the reader or of the caller ends a verification or a restore, and says nothing about the backup.
func TestOtherErrorsAreNoDamageOfBackup(t *testing.T) {
	t.Parallel()
	x := newFileServer(t, folderIn(t))
	const text = "a file of some length"
	x.upload(text, true)
	archive, _, err := x.write(x.bucket)
	if err != nil {
		t.Fatal(err)
	}
	check := func(ctx context.Context, from func() io.Reader, cause error) {
		t.Helper()
		_, verified := backup.Verify(ctx, from(), noProgress)
		dir := t.TempDir()
		_, restored := backup.Restore(ctx, dir, folderIn(t)(dir), noLock, from(), noProgress)
		for _, err := range []error{verified, restored} {
			if !errors.Is(err, cause) || loci.Is(err, loci.CodeConflict) {
				t.Errorf("%v: %v", cause, err)
			}
		}
	}
	end := len(bytes.TrimRight(archive, "\x00"))
	for _, cause := range []error{context.DeadlineExceeded, fs.ErrPermission, syscall.EIO} {
		for _, at := range []int{0, 100, 520, end / 2, bytes.LastIndex(archive, []byte(text)) + 3, end - 3, end + 520} {
			check(t.Context(), func() io.Reader {
				return io.MultiReader(bytes.NewReader(archive[:at]), iotest.ErrReader(cause))
			}, cause)
		}
	}
	// The context of a verification ends while its database is checked.
	ctx, cancel := context.WithCancel(t.Context())
	_, err = backup.Verify(ctx, lastByteReader{bytes.NewReader(archive), cancel}, noProgress)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
