package sqlite

import (
	"context"
	"os"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Stats returns the figures without a query.
func (d *database) Stats(context.Context) sqldb.Stats {
	return sqldb.Stats{
		Connections: int64(d.readers.Total()), InUse: int64(d.readers.InUse()), WaitCount: d.waitCount.Load(),
		QueuedWrites:  int64(d.writer.queued()),
		DatabaseBytes: fileSize(d.path), WALBytes: fileSize(d.path + "-wal"), DiskFreeBytes: disk.FreeBytes(d.path),
	}
}

// fileSize returns the bytes of a file, or -1.
func fileSize(path string) int64 {
	i, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return i.Size()
}

// FileDescriptors returns the limit of file descriptors of an open database.
func FileDescriptors() int {
	const (
		each  = 2 // the file and its write-ahead log
		other = 2 // the writer, and a connection for migrations and checks
	)
	return each*(readerCount()+other) + 2 // and the shared memory of the log, and the marker
}
