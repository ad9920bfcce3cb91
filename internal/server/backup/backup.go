package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/atomicfile"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
)

// A Manifest is the first file of a backup: it describes the other files.
type Manifest struct {
	Format    int       `json:"format"`
	Version   string    `json:"version"` // of the program
	CreatedAt time.Time `json:"createdAt"`
	sqlite.Contents
	Files []File `json:"files"`

	Attachments *Attachments `json:"attachments,omitempty"` // the last file of the archive has them
}

// A File is a file in a backup.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

const (
	format       = 2 // 1 has no attachments
	manifestName = "manifest.json"
	maxManifest  = 1 << 20
)

// Progress receives the number of finished bytes, and their total.
type Progress func(done, total int64)

// A Source is the SQLite database in a data folder, and the bucket of its attachments.
type Source struct {
	Data    string // the folder
	Version string // of the program

	// OpenBucket opens the bucket of a server that has saved these settings, a JSON object or "".
	OpenBucket func(settings string) (blob.Bucket, error)
}

// Write writes a backup to a file, or to out where the file is "-". The file appears only once it is complete; with
// force it replaces an existing file.
func (s Source) Write(
	ctx context.Context, file string, force bool, out io.Writer, progress Progress,
) (m Manifest, err error) {
	parent := "" // the temporary folder
	if file != "-" {
		if err := s.checkOverwrite(file, force); err != nil {
			return m, err
		}
		parent = filepath.Dir(file)
	}
	dir, remove, err := stagingDir(parent, "."+filepath.Base(file)+".")
	if err != nil {
		return m, err
	}
	defer remove()
	if err := sqlite.Copy(ctx, s.Data, dir, progress); err != nil {
		return m, err
	}
	for _, of := range []string{s.Data, dir} { // a copy is whole where pages of the database are lost
		if damage, err := sqlite.Verify(ctx, of); err != nil {
			return m, err
		} else if damage != "" {
			return m, loci.Errorf(loci.CodeConflict, "the database is damaged, so that a backup would lack what is "+
				"lost: %s. Run loci admin check --repair; if it does not repair all, restore the last good backup",
				damage)
		}
	}
	if m, err = newManifest(ctx, dir, s.Version); err != nil {
		return m, err
	}
	if m.Schema > sqldb.LatestSchema {
		return m, loci.Errorf(loci.CodeConflict, "the database has schema %d, this program knows schema %d and could "+
			"not verify or restore the backup: use a newer loci", m.Schema, sqldb.LatestSchema)
	}
	if file == "-" {
		if err := s.writeArchive(ctx, out, &m, dir, progress); err != nil {
			return m, err
		}
		return m, s.note()
	}
	whole := filepath.Join(dir, "backup")
	f, err := os.OpenFile(whole, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return m, err
	}
	// Chmod: independent of the umask
	if err := errors.Join(s.writeArchive(ctx, f, &m, dir, progress), f.Chmod(0o600), f.Sync(),
		f.Close()); err != nil {
		return m, err
	}
	if err := s.checkOverwrite(file, force); err != nil { // it may have appeared meanwhile
		return m, err
	}
	if err := errors.Join(os.Rename(whole, file), atomicfile.SyncDir(parent)); err != nil {
		return m, err
	}
	return m, s.note()
}

// Names in a data folder, beside the database.
const (
	ConfigFile  = "loci.toml"  // has the settings
	FilesFolder = "files"      // has the files of memories
	LockFile    = "serve.lock" // of a running server
	// IdentityFile holds the identity of the PostgreSQL database that a server used last. The file of an SQLite
	// database lies in the data folder itself, beside a marker of its own.
	IdentityFile = "loci.database"
	// LastFile is the file whose time is that of the last backup. It is empty, so that "touch" notes the backups of
	// other programs.
	LastFile = "loci.backup"
)

// note notes the time of a backup.
func (s Source) note() error {
	path := filepath.Join(s.Data, LastFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		now := time.Now()
		err = errors.Join(f.Close(), os.Chtimes(path, now, now))
	}
	if err != nil {
		err = fmt.Errorf("the backup is whole, but monitoring does not learn of it: %w", err)
	}
	return err
}

// Last returns the time of the last backup that a data folder has noted, or the zero time.
func Last(data string) (time.Time, error) {
	info, err := os.Stat(filepath.Join(data, LastFile))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	} else if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// checkOverwrite rejects an existing file, an object other than a file, and files of the database.
func (s Source) checkOverwrite(file string, force bool) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return loci.Errorf(loci.CodeConflict, "%s is not a regular file: name another file", file)
	case !force:
		return loci.Errorf(loci.CodeConflict, "%s exists already: name another file, or add --force", file)
	}
	own, err := os.ReadDir(s.Data)
	for _, entry := range own {
		ours := strings.HasPrefix(entry.Name(), sqlite.FileName) || slices.Contains(allowedFiles, entry.Name())
		if other, err := entry.Info(); err == nil && ours && os.SameFile(info, other) {
			return loci.Errorf(loci.CodeConflict, "%s belongs to the database: name another file", file)
		}
	}
	return err
}

// newManifest makes the manifest of the copy in a folder.
func newManifest(ctx context.Context, dir, version string) (m Manifest, err error) {
	m = Manifest{Format: format, Version: version, CreatedAt: time.Now().UTC().Truncate(time.Second)}
	if m.Contents, err = sqlite.ReadContents(ctx, dir); err != nil {
		return m, err
	}
	f, err := os.Open(filepath.Join(dir, sqlite.FileName))
	if err != nil {
		return m, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, contextio.NewReader(ctx, f))
	m.Files = []File{{sqlite.FileName, n, hex.EncodeToString(h.Sum(nil))}}
	return m, err
}

// An archiveWriter writes the files of an archive.
type archiveWriter struct {
	*tar.Writer
	at time.Time
}

// create begins a file, whose bytes are written next.
func (w archiveWriter) create(name string, size int64) error {
	return w.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: w.at, Format: tar.FormatPAX})
}

// writeJSON writes a file with an object.
func (w archiveWriter) writeJSON(name string, object any) error {
	text, err := json.MarshalIndent(object, "", "  ")
	if err == nil {
		err = w.create(name, int64(len(text)))
	}
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// writeArchive writes the manifest, the files that it names, and the files of attachments.
func (s Source) writeArchive(ctx context.Context, to io.Writer, m *Manifest, dir string, progress Progress) error {
	w := archiveWriter{tar.NewWriter(to), m.CreatedAt}
	if err := w.writeJSON(manifestName, m); err != nil {
		return err
	}
	for _, file := range m.Files {
		f, err := os.Open(filepath.Join(dir, file.Name))
		if err != nil {
			return err
		}
		if err = w.create(file.Name, file.Bytes); err == nil {
			_, err = io.Copy(w, contextio.NewReader(ctx, f))
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	var err error
	if m.Attachments, err = s.writeAttachments(ctx, w, dir, progress); err != nil {
		return err
	}
	return w.Close()
}
