package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loci-memory/loci/internal/atomicfile"
)

// maxFile bounds the files of clients. Claude Code keeps a history in its own.
const maxFile = 64 << 20

// A file is the state of a client's file.
type file struct {
	path string // as the client knows it
	real string // the target of links
	text []byte // nil: the file does not exist
	mode fs.FileMode
}

// readFile reads a file; one that does not exist has no text.
func readFile(path string) (*file, error) {
	f := &file{path: path}
	var err error
	if f.real, err = followLinks(path); err != nil {
		return nil, err
	}
	info, err := os.Stat(f.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f.mode = info.Mode()
	f.text, err = readBounded(f.real)
	return f, err
}

func readBounded(path string) ([]byte, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s has more than %d MiB", path, maxFile>>20)
	}
	return text, err
}

// maxLinks bounds a chain of symbolic links.
const maxLinks = 40

// followLinks returns the target of symbolic links, which need not exist.
func followLinks(path string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link, or nothing: reading says which
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path)) // ".." leaves the folder that a link leads to
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", fmt.Errorf("%s leads through more than %d links", path, maxLinks)
}

// requireInside refuses a path of a project whose links lead out of it: the links of a repository are foreign.
func requireInside(project, path string) error {
	root, err := os.OpenRoot(project)
	if err != nil {
		return err
	}
	defer root.Close()
	name, err := filepath.Rel(project, path)
	if err != nil {
		return err
	}
	_, err = root.Stat(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for at := name; at != filepath.Dir(at); at = filepath.Dir(at) {
		if to, linkErr := root.Readlink(at); linkErr == nil {
			return fmt.Errorf("%s is a link to %s: --project follows no link out of the project; replace the link by "+
				"a file or folder", filepath.Join(project, at), to)
		}
	}
	return err
}

// target returns where the links of the file lead, or "" without links. Those above base do not count.
func (f *file) target(base string) string {
	real, err := filepath.EvalSymlinks(f.real)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = filepath.EvalSymlinks(filepath.Dir(f.real))
		real = filepath.Join(real, filepath.Base(f.real))
	}
	if err != nil || real == f.path {
		return ""
	}
	top, err := filepath.EvalSymlinks(base)
	name, relErr := filepath.Rel(base, f.path)
	if err == nil && relErr == nil && real == filepath.Join(top, name) {
		return ""
	}
	return real
}

// errChanged says that somebody else wrote the file meanwhile.
var errChanged = errors.New("the file was changed by another program at the same time: try again")

// replace writes the text in one step, or removes the file if the text is nil. A reader sees the old text or the new
// one, and a killed process leaves one of them.
func (f *file) replace(text []byte, private bool) error {
	if f.text != nil && f.mode.Perm()&0o200 == 0 {
		return fmt.Errorf("%s is read-only: allow writing first (chmod u+w)", f.path)
	}
	mode := fs.FileMode(0o644)
	if private {
		mode = 0o600
	}
	if f.text != nil {
		mode = f.mode.Perm()
	}
	if text == nil {
		if err := f.unchanged(); err != nil {
			return err
		}
		return os.Remove(f.real)
	}
	if err := os.MkdirAll(filepath.Dir(f.real), folderMode(private)); err != nil {
		return err
	}
	return atomicfile.Write(f.real, text, mode, f.unchanged)
}

// unchanged returns errChanged unless the file still has its text.
func (f *file) unchanged() error {
	now, err := readBounded(f.real)
	if errors.Is(err, fs.ErrNotExist) {
		err, now = nil, nil
	}
	if err == nil && ((now == nil) != (f.text == nil) || !bytes.Equal(now, f.text)) {
		err = errChanged
	}
	return err
}
