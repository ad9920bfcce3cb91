package server

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// A Manifest is the first file of a backup: it says what the others are.
type Manifest struct {
	Format    int       `json:"format"`
	Version   string    `json:"version"` // of the program
	CreatedAt time.Time `json:"createdAt"`
	store.Contents
	Files []BackupFile `json:"files"`
}

// A BackupFile is a file in a backup.
type BackupFile struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

const (
	backupFormat = 1
	manifestName = "manifest.json"
	maxManifest  = 1 << 20
)

// Progress is told how many bytes of a long work are done, and of how many.
type Progress func(done, total int64)

// Backup writes a backup of the SQLite database to a file, or to out where the file is
// "-". The file appears when it is whole, and not before: with force it then takes the
// place of another.
func (s Settings) Backup(
	ctx context.Context, file string, force bool, out io.Writer, progress Progress,
) (m Manifest, err error) {
	if s.DB != "" {
		return m, loci.Fail(loci.InvalidQuery, "loci admin backup copies SQLite databases. For PostgreSQL use:\n  %s",
			dumpLine(s.DB, file))
	}
	if err := s.Present(ctx); err != nil {
		return m, err
	}
	place := "" // the temporary folder
	if file != "-" {
		if err := s.mayWrite(file, force); err != nil {
			return m, err
		}
		place = filepath.Dir(file)
	}
	dir, remove, err := partial(place, "."+filepath.Base(file)+".")
	if err != nil {
		return m, err
	}
	defer remove()
	if err := store.CopySQLite(ctx, s.Data, dir, progress); err != nil {
		return m, err
	}
	if m, err = describe(ctx, dir); err != nil {
		return m, err
	}
	if file == "-" {
		return m, pack(ctx, out, m, dir)
	}
	whole := filepath.Join(dir, "backup")
	f, err := os.OpenFile(whole, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return m, err
	}
	// Chmod: whatever the umask
	if err := errors.Join(pack(ctx, f, m, dir), f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return m, err
	}
	if err := s.mayWrite(file, force); err != nil { // it may have come meanwhile
		return m, err
	}
	return m, errors.Join(os.Rename(whole, file), syncFolder(place))
}

// mayWrite refuses a file that is there, what is no file, and those of the database.
func (s Settings) mayWrite(file string, force bool) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return loci.Fail(loci.Conflict, "%s is no file that a backup can take the place of: name another", file)
	case !force:
		return loci.Fail(loci.Conflict, "%s is there already: name another file, or add --force", file)
	}
	own, err := os.ReadDir(s.Data)
	for _, entry := range own {
		ours := strings.HasPrefix(entry.Name(), store.SQLiteFile) || slices.Contains(beside, entry.Name())
		if other, err := entry.Info(); err == nil && ours && os.SameFile(info, other) {
			return loci.Fail(loci.Conflict, "%s belongs to the database: name another file", file)
		}
	}
	return err
}

// describe makes the manifest of the copy in a folder.
func describe(ctx context.Context, dir string) (m Manifest, err error) {
	m = Manifest{Format: backupFormat, Version: Version, CreatedAt: time.Now().UTC().Truncate(time.Second)}
	if m.Contents, err = store.SQLiteContents(ctx, dir); err != nil {
		return m, err
	}
	f, err := os.Open(filepath.Join(dir, store.SQLiteFile))
	if err != nil {
		return m, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, interruptible{ctx, f})
	m.Files = []BackupFile{{store.SQLiteFile, n, hex.EncodeToString(h.Sum(nil))}}
	return m, err
}

// pack writes the manifest and the files that it names.
func pack(ctx context.Context, to io.Writer, m Manifest, dir string) error {
	w := tar.NewWriter(to)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	entry := func(name string, size int64) error {
		return w.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: m.CreatedAt,
			Format: tar.FormatPAX})
	}
	if err := entry(manifestName, int64(len(text))); err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	for _, file := range m.Files {
		f, err := os.Open(filepath.Join(dir, file.Name))
		if err != nil {
			return err
		}
		if err = entry(file.Name, file.Bytes); err == nil {
			_, err = io.Copy(w, interruptible{ctx, f})
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return w.Close()
}

// interruptible reads until the context ends.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// syncFolder makes the names in a folder durable, where the system can.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every file system has it
	return d.Close()
}
