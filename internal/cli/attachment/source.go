package attachment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/contextio"
)

// A source is a file that is uploaded.
type source struct {
	file   *os.File
	name   string // of the attachment
	size   int64
	sha256 string
	temp   string // the path of a temporary file that could not be removed while it is open
}

// openSource opens a regular file.
func openSource(path, name string) (*source, error) {
	info, err := os.Stat(path) // opening a pipe would wait for a writer
	if err == nil {
		switch {
		case info.IsDir():
			return nil, loci.Errorf(loci.CodeInvalidQuery, "it is a folder: add its files, or an archive of it")
		case !info.Mode().IsRegular():
			return nil, loci.Errorf(loci.CodeInvalidQuery, "it is not a regular file: use - to read a stream")
		}
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, pathError(err)
	}
	return &source{file: f, name: name}, nil
}

// pathError returns the error of a file without its path, which the line of the file names.
func pathError(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return &loci.Error{Code: loci.CodeInvalidQuery, Message: "it cannot be read: " + err.Error(), Err: err}
}

// spool copies a stream to a temporary file, which is deleted with its process.
func spool(ctx context.Context, in io.Reader, name string) (*source, error) {
	f, err := os.CreateTemp("", "loci-upload-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("the stream cannot be stored: %w", err)
	}
	s := &source{file: f, name: name}
	if os.Remove(f.Name()) != nil { // some systems remove no open file
		s.temp = f.Name()
	}
	// A read of a terminal or pipe ends with the process.
	if _, err := contextio.Await(ctx, func() (int64, error) { return io.Copy(f, in) }); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *source) close() {
	s.file.Close() // it was only read, or is a copy
	if s.temp != "" {
		_ = os.Remove(s.temp) // the system cleans its folder
	}
}

// measure reads the file for its size and checksum.
func (s *source) measure(ctx context.Context) error {
	info, err := s.file.Stat()
	if err != nil {
		return pathError(err)
	}
	if s.size = info.Size(); s.size > loci.MaxFileSize {
		return loci.Errorf(loci.CodeInvalidQuery, "it has more than %d GiB, the most that a server can store in one "+
			"file", loci.MaxFileSize>>30)
	}
	h := sha256.New()
	n, err := io.Copy(h, contextio.NewReader(ctx, io.NewSectionReader(s.file, 0, loci.MaxFileSize+1)))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return pathError(err)
	case n != s.size:
		return errChanged
	}
	s.sha256 = hex.EncodeToString(h.Sum(nil))
	return nil
}

// errChanged is the error of a file that is written while it is read.
var errChanged = loci.Errorf(loci.CodeStateConflict, "it changes while it is read: add it again when nobody writes it")

// A meter reports how many bytes were read.
type meter struct {
	io.Reader
	n     int64
	moved func(n int64)
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.n += int64(n)
	m.moved(m.n)
	return n, err
}

// A sourceReader reads a file that was measured. It ends with errChanged before the last bytes of one that has changed,
// so that no server takes them for the whole.
type sourceReader struct {
	source *source
	body   *meter
	hash   hash.Hash
	err    error // other than io.EOF
}

// reader returns a reader of the whole file.
func (s *source) reader(progress func(n int64)) *sourceReader {
	return &sourceReader{source: s, body: &meter{Reader: io.NewSectionReader(s.file, 0, s.size), moved: progress},
		hash: sha256.New()}
}

// Read implements io.Reader.
func (r *sourceReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.body.Read(p)
	r.hash.Write(p[:n])
	switch {
	case err != nil && err != io.EOF:
		r.err = pathError(err)
	case r.body.n == r.source.size && r.hasChanged(), err == io.EOF && r.body.n < r.source.size:
		r.err = errChanged
	}
	if r.err != nil {
		return 0, r.err
	}
	return n, err
}

// hasChanged reports whether the file has another size or checksum than before.
func (r *sourceReader) hasChanged() bool {
	info, err := r.source.file.Stat()
	return err != nil || info.Size() != r.source.size || hex.EncodeToString(r.hash.Sum(nil)) != r.source.sha256
}
