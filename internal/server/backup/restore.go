package backup

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/atomicfile"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
)

// A Result describes a restored database.
type Result struct {
	Manifest
	Signins int64 `json:"signinsEnded"`
	Grants  int64 `json:"grantsEnded"`
	// all working keys, also those that were revoked after the backup
	Keys []sqlite.ActiveKey `json:"keys"`
}

// IsBackup reports whether a file begins as a backup of SQLite does.
func IsBackup(from io.Reader) bool {
	head, err := tar.NewReader(from).Next()
	return err == nil && head.Name == manifestName
}

// A Verification describes a verified backup.
type Verification struct {
	Manifest
	NotChecked []string `json:"notChecked,omitempty"` // tables whose rows have no checksums in an earlier schema
}

// Verify reads a backup to its end and compares it with its manifest, and the rows of its database with their
// checksums. It extracts the database to the temporary folder meanwhile.
func Verify(ctx context.Context, from io.Reader, progress Progress) (v Verification, err error) {
	dir, remove, err := stagingDir("", "")
	if err != nil {
		return v, err
	}
	defer remove()
	if v.Manifest, err = extract(ctx, from, dir, progress, func(_ sqlite.StoredFile, body io.Reader) error {
		_, err := io.Copy(io.Discard, body)
		return err
	}); err != nil {
		return v, err
	}
	damage, err := sqlite.Verify(ctx, dir)
	if damage == "" && err == nil {
		damage, v.NotChecked, err = sqlite.VerifyRows(ctx, dir)
	}
	if damage != "" && err == nil {
		err = loci.Errorf(loci.CodeConflict, "the backup is as it was written, and its database was damaged before: "+
			"%s. Use an earlier backup, or restore this one and run loci admin check", damage)
	}
	return v, err
}

// extract writes the database of a backup to a folder, and compares it with the manifest. Then it calls store with the
// files of attachments. An error of the reader, or of the context, is no damage of the backup.
func extract(ctx context.Context, from io.Reader, dir string, progress Progress,
	store storeFunc) (m Manifest, err error) {
	source := &progressReader{r: contextio.NewReader(ctx, from), report: func(int64) {}}
	defer func() { err = cmp.Or(source.err, err) }()
	in := tar.NewReader(source)
	longest, known := regularFileSize(from)
	if !known {
		longest = math.MaxInt64
	}
	m, err = readDatabase(in, longest, progress, func(name string) (io.WriteCloser, error) {
		return os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	})
	if err != nil {
		return m, err
	}
	have, err := sqlite.ReadContents(ctx, dir)
	if err != nil {
		return m, err
	}
	if have.Schema != m.Schema || !maps.Equal(have.Counts, m.Counts) {
		return m, loci.Errorf(loci.CodeConflict, "the database of the backup is not the one that its manifest "+
			"describes")
	}
	if m.Format > 1 {
		r := attachmentReader{in: in, longest: longest, store: store, progress: progress}
		if m.Attachments, err = r.read(ctx, dir); err != nil {
			return m, err
		}
	}
	if _, err := in.Next(); err != io.EOF {
		return m, damagedError(errors.New("it has more files than its manifest names"))
	}
	return m, nil
}

// Restore writes the database of a backup into a data folder without one, under a lock, and the files of its
// attachments into a bucket. The database appears only once all is complete and verified. Files that the bucket has
// already must have the same content. After an error the files that were written are deleted.
func Restore(ctx context.Context, data string, bucket blob.Bucket, lock func() (func(), error), from io.Reader,
	progress Progress) (r Result, err error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return r, err
	}
	if err := checkEmpty(data); err != nil {
		return r, err
	}
	unlock, err := lock()
	if err != nil {
		return r, err
	}
	defer unlock()
	dir, remove, err := stagingDir(data, restorePrefix)
	if err != nil {
		return r, err
	}
	defer remove()
	to := &restoredFiles{bucket: bucket}
	defer func() {
		if err != nil {
			err = errors.Join(err, to.remove(context.WithoutCancel(ctx)))
		}
	}()
	if r.Manifest, err = extract(ctx, from, dir, progress, func(f sqlite.StoredFile, body io.Reader) error {
		return to.store(ctx, f, body)
	}); err != nil {
		return r, err
	}
	if r.Signins, r.Grants, r.Keys, err = sqlite.EndSignIns(ctx, dir); err != nil {
		return r, err
	}
	whole := filepath.Join(dir, sqlite.FileName)
	f, err := os.OpenFile(whole, os.O_RDWR, 0)
	if err != nil {
		return r, err
	}
	if err := errors.Join(f.Chmod(0o600), f.Sync(), f.Close(), ctx.Err()); err != nil {
		return r, err
	}
	// The marker of a former database counts commits that this one does not have. It stays, so that no server makes an
	// empty database here meanwhile.
	if err := sqlite.ForgetCommits(data); err != nil {
		return r, err
	}
	if err := checkEmpty(data); err != nil { // another program may have made a database meanwhile
		return r, err
	}
	if err := os.Rename(whole, filepath.Join(data, sqlite.FileName)); err != nil {
		return r, err
	}
	to.stored = nil // they stay, whatever comes
	return r, atomicfile.SyncDir(data)
}

// allowedFiles are the files that a folder without a database may have.
var allowedFiles = []string{"lost+found", FilesFolder, ConfigFile, LockFile, IdentityFile, LastFile,
	sqlite.FileName + ".lock", sqlite.MarkerName}

// checkEmpty rejects a data folder with other files: SQLite would apply the log
// of another database to the restored one.
func checkEmpty(data string) error {
	list, err := os.ReadDir(data)
	for _, entry := range list {
		stale := strings.HasPrefix(entry.Name(), restorePrefix) && strings.HasSuffix(entry.Name(), stagingSuffix)
		if !stale && !slices.Contains(allowedFiles, entry.Name()) {
			return loci.Errorf(loci.CodeConflict, "%s is not empty, it has %s: move that away, or name another folder "+
				"with --data",
				data, entry.Name())
		}
	}
	return err
}

// readDatabase reads the manifest of a backup and the files that it names, writes these to the writers from create, and
// compares them with the manifest. Any difference is an error. No file becomes longer than its bytes in the archive,
// which has at most longest bytes.
func readDatabase(in *tar.Reader, longest int64, progress Progress,
	create func(name string) (io.WriteCloser, error)) (m Manifest, err error) {
	head, err := in.Next()
	if err != nil || head.Name != manifestName || head.Size > maxManifest || checkRegular(head) != nil {
		return m, loci.Errorf(loci.CodeInvalidQuery, "this is no backup of Loci: it does not begin with %s",
			manifestName)
	}
	text, err := io.ReadAll(in)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	switch {
	case err != nil:
		return m, damagedError(err)
	case m.Format > format || m.Schema > sqldb.LatestSchema:
		return m, loci.Errorf(loci.CodeConflict, "the backup was made by loci %s with schema %d, this program knows "+
			"schema %d: use a newer loci",
			m.Version, m.Schema, sqldb.LatestSchema)
	case m.Format < 1 || len(m.Files) != 1 || m.Files[0].Name != sqlite.FileName || m.Schema < 1:
		return m, loci.Errorf(loci.CodeInvalidQuery, "this is no backup of Loci: its manifest names no database")
	}
	for _, file := range m.Files {
		head, err := in.Next()
		if err == nil {
			err = checkRegular(head)
		}
		switch {
		case err != nil:
		case head.Name != file.Name || head.Size != file.Bytes:
			err = fmt.Errorf("%q with %d bytes is not the file that the manifest names", head.Name, head.Size)
		case head.Size > longest:
			err = fmt.Errorf("%s has %d bytes, the whole backup %d: it is cut off", head.Name, head.Size, longest)
		}
		if err != nil {
			return m, damagedError(err)
		}
		to, err := create(file.Name)
		if err != nil {
			return m, err
		}
		h := sha256.New()
		read := &progressReader{r: in, report: func(done int64) { progress(done, file.Bytes) }}
		_, err = io.Copy(io.MultiWriter(to, h), read)
		if closed := to.Close(); closed != nil && err == nil {
			err = closed
		}
		if read.err != nil {
			err = damagedError(read.err)
		}
		if err != nil {
			return m, err
		}
		if sum := hex.EncodeToString(h.Sum(nil)); sum != file.SHA256 {
			return m, damagedError(fmt.Errorf("%s has the SHA-256 %s, the manifest has %s", file.Name, sum,
				file.SHA256))
		}
	}
	return m, nil
}

// checkRegular rejects entries other than regular files with all their bytes in the archive: the holes of a sparse file
// would let a short archive fill the disk.
func checkRegular(head *tar.Header) error {
	if head.Typeflag != tar.TypeReg {
		return fmt.Errorf("%q is no regular file", head.Name)
	}
	for name := range head.PAXRecords {
		if strings.HasPrefix(name, "GNU.sparse.") {
			return fmt.Errorf("%q is a sparse file, which no backup has", head.Name)
		}
	}
	return nil
}

// regularFileSize returns the size of a reader that is a regular file.
func regularFileSize(from io.Reader) (int64, bool) {
	f, ok := from.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return 0, false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// damagedError returns the error for a damaged backup.
func damagedError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("it is cut off")
	}
	return &loci.Error{Code: loci.CodeConflict, Message: fmt.Sprintf("the backup is damaged: %v", err), Err: err}
}

// progressReader counts the bytes that are read, and keeps the error that ended reading.
type progressReader struct {
	r      io.Reader
	n      int64
	report func(int64)
	err    error
}

func (c *progressReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); n > 0 {
		c.report(c.n)
	}
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}
