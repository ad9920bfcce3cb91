package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/store"
)

// blobsFile is the setting of files in a folder of the data folder.
const blobsFile = "file"

// openBucket opens the bucket of the files. It connects to nothing: a bucket that is away is no reason not to start.
func (s Settings) openBucket() (blob.Bucket, error) {
	if !s.hasBlobsAddress() {
		return blob.OpenFolder(filepath.Join(s.Data, backup.FilesFolder))
	}
	return blob.OpenS3(s.Blobs, func(name string) string { return s.environ[name] })
}

// hasBlobsAddress reports whether files are kept outside of the data folder.
func (s Settings) hasBlobsAddress() bool { return s.Blobs != "" && s.Blobs != blobsFile }

// movedFilesWarning returns a warning if the server that ran last kept its files in another place.
func (s Settings) movedFilesWarning(ctx context.Context, st *store.Store) string {
	saved, err := store.SystemRead(ctx, st, "read the place of the files", (*store.SystemTx).ServerSettings)
	was, is := cmp.Or(saved["blobs"], blobsFile), cmp.Or(s.Blobs, blobsFile)
	if err != nil || saved == nil || was == is {
		return ""
	}
	return fmt.Sprintf("files are looked for in %s, and were kept in %s: copy them with loci admin files move "+
		"--from '%[2]s' --to '%[1]s'", is, was)
}

// bucketInterval is the pause between two checks of the bucket, which must answer one within bucketTimeout.
const (
	bucketInterval = 10 * time.Second
	bucketTimeout  = 8 * time.Second
)

// A bucketCheck is the result of a check of the bucket that runs in the background.
type bucketCheck struct {
	bucket blob.Bucket
	log    *slog.Logger

	mu      sync.Mutex
	lastErr error // of the last check
}

// checkOnce checks once. It logs the start and the end of an outage.
func (c *bucketCheck) checkOnce(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	err := c.bucket.Check(within)
	if ctx.Err() != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil && c.lastErr == nil:
		c.log.Error("the file store does not answer", "store", c.bucket.String(), "err", err)
	case err == nil && c.lastErr != nil:
		c.log.Warn("the file store answers again", "store", c.bucket.String())
	}
	c.lastErr = err
	return nil
}

// down returns the error of the last check.
func (c *bucketCheck) down() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastErr
}

var (
	filesUp = newDesc("loci_files_up",
		"1 while the store of the files answers, and 0 while it does not: the log says why.")
	filesFree = newDesc("loci_files_free_bytes",
		"Bytes that are free on the disk of the files, if they are in a folder.")
)

// Describe lists the metrics.
func (c *bucketCheck) Describe(to chan<- *prometheus.Desc) {
	to <- filesUp
	to <- filesFree
}

// Collect reads the metrics. The room of a bucket is not known.
func (c *bucketCheck) Collect(to chan<- prometheus.Metric) {
	up := 1.0
	if c.down() != nil {
		up = 0
	}
	to <- prometheus.MustNewConstMetric(filesUp, prometheus.GaugeValue, up)
	if folder, is := c.bucket.(*blob.Folder); is {
		if free := folder.FreeBytes(); free >= 0 {
			to <- prometheus.MustNewConstMetric(filesFree, prometheus.GaugeValue, float64(free))
		}
	}
}

func setMaxFile(s *Settings, v string) (err error) {
	if s.MaxFile, err = strconv.ParseInt(v, 10, 64); err != nil || s.MaxFile < 1 || s.MaxFile > loci.MaxFileSize {
		return fmt.Errorf("must be a whole number of bytes from 1 to %d", int64(loci.MaxFileSize))
	}
	return nil
}
