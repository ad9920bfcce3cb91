package cli

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/testenv"
)

// writeTestArchive makes an archive of a manifest, which names a database of a size, and the header of one entry
// followed by 1 KiB of zeros. It replaces GNU- in record names by GNU., because the standard library does not write
// those names.
func writeTestArchive(t *testing.T, size int64, entry *tar.Header) []byte {
	t.Helper()
	m := backup.Manifest{Format: 1, Version: "test", Contents: sqlite.Contents{Schema: 1},
		Files: []backup.File{{Name: sqlite.FileName, Bytes: size, SHA256: strings.Repeat("0", 64)}}}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	testenv.NoError(t, w.WriteHeader(&tar.Header{Name: "manifest.json", Size: int64(len(text)), Mode: 0o600}))
	_, err = w.Write(text)
	testenv.NoError(t, errors.Join(err, w.WriteHeader(entry)))
	b.Write(make([]byte, 1024))
	return bytes.ReplaceAll(b.Bytes(), []byte("GNU-sparse."), []byte("GNU.sparse."))
}

// gnuSparse turns the last header of an archive into that of a sparse file as
// GNU tar wrote it before PAX: the real size is in the header.
func gnuSparse(b []byte, size int64) []byte {
	head := b[len(b)-1536 : len(b)-1024]
	copy(head[124:136], fmt.Sprintf("%011o\x00", 0))
	copy(head[257:265], "ustar  \x00")
	clear(head[345:512])
	head[156] = tar.TypeGNUSparse
	copy(head[386:398], fmt.Sprintf("%011o\x00", size)) // a hole to the end
	copy(head[398:410], fmt.Sprintf("%011o\x00", 0))
	copy(head[483:495], fmt.Sprintf("%011o\x00", size))
	copy(head[148:156], "        ")
	sum := 0
	for _, c := range head {
		sum += int(c)
	}
	copy(head[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return b
}

// A short archive must not fill the disk or run for hours.
func TestRestoreRejectsSparseArchive(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	hole := map[string]string{"GNU-sparse.major": "0", "GNU-sparse.minor": "1", "GNU-sparse.numblocks": "1",
		"GNU-sparse.map": fmt.Sprintf("%d,0", size), "GNU-sparse.size": fmt.Sprint(size)}
	for name, c := range map[string]struct {
		archive []byte
		says    string
	}{
		"sparse": {writeTestArchive(t, size, &tar.Header{Name: sqlite.FileName, Mode: 0o600, PAXRecords: hole}),
			"is a sparse file"},
		"old sparse": {gnuSparse(writeTestArchive(t, size, &tar.Header{Name: sqlite.FileName, Mode: 0o600}), size),
			"is no regular file"},
		"a link": {writeTestArchive(t, 0, &tar.Header{Name: sqlite.FileName, Typeflag: tar.TypeSymlink,
			Linkname: "/etc"}),
			"is no regular file"},
		"a folder": {writeTestArchive(t, 0, &tar.Header{Name: sqlite.FileName, Typeflag: tar.TypeDir,
			Mode: 0o700}),
			"is no regular file"},
		"other size": {writeTestArchive(t, 512, &tar.Header{Name: sqlite.FileName, Mode: 0o600, Size: 511}),
			"is not the file that the manifest names"},
		"beyond file": {writeTestArchive(t, 1<<50, &tar.Header{Name: sqlite.FileName, Mode: 0o600, Size: 1 << 50}),
			"the whole backup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectRejected(t, c.archive, c.says)
			runVerify(t, exitFailure, "-", bytes.NewReader(c.archive)) // of unknown length
		})
	}
}
