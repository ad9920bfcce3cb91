// Package atomicfile replaces a file in one step: a reader sees the old bytes or the new ones, and so does the next
// start after a crash.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// pattern is the name of a temporary file. A killed process leaves one beside the file.
const pattern = ".loci-*"

// Write replaces the file at a path, or creates it in a folder that exists. It replaces a link, not the target. The
// check, if not nil, is called just before the replacement: its error leaves the file as it is.
func Write(path string, b []byte, mode fs.FileMode, check func() error) error {
	dir := filepath.Dir(path)
	next, err := os.CreateTemp(dir, pattern) // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // renamed unless an error occurred
	_, err = next.Write(b)
	err = errors.Join(err, next.Chmod(mode), next.Sync(), next.Close())
	if err == nil && check != nil {
		err = check()
	}
	if err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return err
	}
	_ = SyncDir(dir) // the file is replaced already
	return nil
}

// SyncDir makes the names in a folder durable, where the system can.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // some file systems do not support it
	return d.Close()
}
