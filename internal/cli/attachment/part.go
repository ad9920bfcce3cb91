package attachment

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/contextio"
)

// partPath returns the path of the part of a file that has arrived. It names the content of the file, so that no part
// of another one is continued.
func (d *download) partPath(path string) string {
	key := d.file.SHA256
	if key == "" {
		key = fmt.Sprintf("%x", sha256.Sum256([]byte(string(d.file.ID)+d.etag)))
	}
	return filepath.Join(filepath.Dir(path), shorten(filepath.Base(path), "."+key[:12]+".part"))
}

// save writes the file to a path. It continues the part of an earlier run, and leaves the part after an error.
func (d *download) save(ctx context.Context, path string, force bool) error {
	part := d.partPath(path)
	for {
		continued, err := d.savePart(ctx, part)
		switch {
		case err == nil:
			return place(part, path, force)
		case err == errChecksum, err == errNoRange, d.offset == 0:
			if e := os.Remove(part); e != nil || !continued {
				return err
			}
			d.offset, d.hash = 0, sha256.New() // the part was damaged
		default:
			return err
		}
	}
}

// savePart writes the file to its part, and reports whether it has continued an earlier one.
func (d *download) savePart(ctx context.Context, path string) (continued bool, err error) {
	f, err := d.openPart(path)
	if err != nil {
		return false, err
	}
	defer func() {
		if e := f.Close(); err == nil && e != nil {
			err = writeError(e)
		}
	}()
	if continued, err = d.readPart(ctx, f); err != nil {
		return continued, err
	}
	if continued {
		d.drop() // it begins at 0
	}
	if continued && d.offset == d.file.Size {
		if d.file.SHA256 != "" && d.sum() != d.file.SHA256 {
			return true, errChecksum
		}
		return true, nil
	}
	if err = d.read(ctx, f); err != nil {
		return continued, err
	}
	if err = f.Sync(); err != nil {
		return continued, writeError(err)
	}
	return continued, nil
}

// openPart opens the part of an earlier run, or creates it. It follows no link. The part of a file that cannot be
// continued is created anew.
func (d *download) openPart(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		return f, writeError(err)
	case err != nil:
		return nil, writeError(err)
	case !info.Mode().IsRegular():
		return nil, loci.Errorf(loci.CodeStateConflict, "%s is no regular file: remove it", path)
	case d.etag == "" || d.file.Size >= 0 && info.Size() > d.file.Size:
		if err := os.Remove(path); err != nil {
			return nil, writeError(err)
		}
		return d.openPart(path)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, writeError(err)
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(loci.Errorf(loci.CodeStateConflict, "%s was replaced: get the file again", path),
			f.Close())
	}
	return f, nil
}

// readPart reads what an earlier run has written, and reports whether it is anything.
func (d *download) readPart(ctx context.Context, f *os.File) (bool, error) {
	n, err := io.Copy(d.hash, contextio.NewReader(ctx, f))
	if d.offset = n; ctx.Err() != nil {
		return false, ctx.Err()
	}
	return n > 0, writeError(err)
}

// place gives a part its name. Without force it replaces no other file.
func place(part, path string, force bool) error {
	if force {
		return writeError(os.Rename(part, path))
	}
	switch err := os.Link(part, path); {
	case errors.Is(err, fs.ErrExist):
		return existsError(path)
	case err == nil:
		return writeError(os.Remove(part))
	}
	// This file system has no links: another process may create the file in this moment.
	if _, err := os.Lstat(path); err == nil {
		return existsError(path)
	}
	return writeError(os.Rename(part, path))
}

// writeError returns the error of a file that is saved.
func writeError(err error) error {
	if err == nil {
		return nil
	}
	return &loci.Error{Code: loci.CodeInvalidQuery, Message: "the file cannot be saved: " + err.Error(), Err: err}
}
