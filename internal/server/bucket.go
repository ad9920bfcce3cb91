package server

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
)

// blobsFile is the setting of files in a folder of the data folder, filesFolder.
const (
	blobsFile   = "file"
	filesFolder = "files"
)

// openBucket opens the bucket of the files. It connects to nothing: a bucket that is away is no reason not to start.
func (s Settings) openBucket() (blob.Bucket, error) {
	if !s.hasBlobsAddress() {
		return blob.OpenFolder(filepath.Join(s.Data, filesFolder))
	}
	return blob.OpenS3(s.Blobs, func(name string) string { return s.environ[name] })
}

// hasBlobsAddress reports whether files are kept outside of the data folder.
func (s Settings) hasBlobsAddress() bool { return s.Blobs != "" && s.Blobs != blobsFile }

func setMaxFile(s *Settings, v string) (err error) {
	if s.MaxFile, err = strconv.ParseInt(v, 10, 64); err != nil || s.MaxFile < 1 || s.MaxFile > loci.MaxFileSize {
		return fmt.Errorf("must be a whole number of bytes from 1 to %d", int64(loci.MaxFileSize))
	}
	return nil
}
