package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/atomicfile"
	"github.com/loci-memory/loci/internal/contextio"
	"github.com/loci-memory/loci/internal/disk"
)

// A Folder keeps each object in a file of its own, in two levels of folders.
type Folder struct{ dir string }

// uploads is the folder of unfinished files. It is on the same file system as the objects.
const uploads = "uploads"

// uploadTime is the time after which an unfinished file is one of an upload that has ended with its process.
const uploadTime = 15 * time.Minute // a transfer writes some bytes every minute

// OpenFolder opens a folder, which the first object creates. It deletes what uploads that did not finish have left. A
// folder that cannot be read fails the calls, and not this function.
func OpenFolder(dir string) (f *Folder, err error) {
	f = &Folder{dir}
	unfinished, _ := os.ReadDir(f.uploads())
	for _, e := range unfinished {
		if info, late := e.Info(); late == nil && time.Since(info.ModTime()) > uploadTime {
			err = errors.Join(err, os.Remove(filepath.Join(f.uploads(), e.Name())))
		}
	}
	return f, err
}

func (f *Folder) String() string { return "folder " + f.dir }

// FreeBytes returns the bytes that are free for objects, or -1 if that is unknown.
func (f *Folder) FreeBytes() int64 { return disk.FreeBytes(f.dir) }

func (f *Folder) uploads() string { return filepath.Join(f.dir, uploads) }

// path returns the file of an object. The last characters of an id are random, the first ones a time.
func (f *Folder) path(id loci.ID) (string, error) {
	if !id.Valid() {
		return "", ErrNotFound
	}
	n := len(id)
	return filepath.Join(f.dir, string(id[n-2:]), string(id[n-4:n-2]), string(id)), nil
}

// Put implements Bucket.
func (f *Folder) Put(ctx context.Context, id loci.ID, body io.Reader, size int64) error {
	path, err := f.path(id)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return ErrExists
	}
	next, err := f.createTemp()
	if err != nil {
		return mapError(err)
	}
	defer os.Remove(next.Name())
	_, err = io.Copy(next, contextio.NewReader(ctx, &exactReader{body: body, left: size}))
	if err == nil {
		err = next.Sync()
	}
	if err = errors.Join(err, next.Close()); err == nil {
		err = f.makeDirs(filepath.Dir(path))
	}
	if err == nil {
		err = os.Link(next.Name(), path) // unlike a rename it replaces nothing
	}
	if err != nil {
		return mapError(err)
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

// createTemp creates a file for an upload.
func (f *Folder) createTemp() (*os.File, error) {
	if err := os.MkdirAll(f.uploads(), 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(f.uploads(), "*") // mode 0600
}

// makeDirs makes the folders of an object durable, and creates the two of its own.
func (f *Folder) makeDirs(dir string) error {
	if entries, err := os.ReadDir(f.dir); err != nil || len(entries) < 2 { // the folder itself may be new
		if err := errors.Join(err, atomicfile.SyncDir(filepath.Dir(f.dir))); err != nil {
			return err
		}
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		switch err := os.Mkdir(d, 0o700); {
		case err == nil:
			if err := atomicfile.SyncDir(filepath.Dir(d)); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	return nil
}

// mapError returns an error of this package for one of the file system that callers tell apart.
func mapError(err error) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// mapNotFound returns ErrNotFound for a file that does not exist.
func mapNotFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return err
}

// A file is the Reader of an object.
type file struct {
	*os.File
	size int64
}

func (f file) Size() int64 { return f.size }

// ForServing returns the reader that net/http sends fastest: of a folder the file itself, which the system copies to a
// connection.
func ForServing(r Reader) io.ReadSeeker {
	if f, ok := r.(file); ok {
		return f.File
	}
	return r
}

// Open implements Bucket.
func (f *Folder) Open(_ context.Context, id loci.ID) (Reader, error) {
	path, err := f.path(id)
	if err != nil {
		return nil, err
	}
	opened, err := os.Open(path)
	if err != nil {
		return nil, mapNotFound(err)
	}
	info, err := opened.Stat()
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return file{opened, info.Size()}, nil
}

// Head implements Bucket.
func (f *Folder) Head(_ context.Context, id loci.ID) (Object, error) {
	path, err := f.path(id)
	if err != nil {
		return Object{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Object{}, mapNotFound(err)
	}
	return Object{id, info.Size(), info.ModTime()}, nil
}

// Delete implements Bucket.
func (f *Folder) Delete(_ context.Context, id loci.ID) error {
	path, err := f.path(id)
	if err != nil {
		return nil // there is no such object
	}
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

// List implements Bucket.
func (f *Folder) List(ctx context.Context) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		err := filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
				return nil
			case err != nil:
				return err
			case d.IsDir() && path == f.uploads():
				return fs.SkipDir
			case d.IsDir():
				return ctx.Err()
			}
			if own, err := f.path(loci.ID(d.Name())); err != nil || own != path {
				return ctx.Err() // none of this package
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if !yield(Object{loci.ID(d.Name()), info.Size(), info.ModTime()}, nil) {
				return fs.SkipAll
			}
			return ctx.Err()
		})
		if err != nil {
			yield(Object{}, err)
		}
	}
}

// Check implements Bucket.
func (f *Folder) Check(context.Context) error {
	probe, err := f.createTemp()
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
