package sqldb

import (
	"context"
	"os"
)

// Stats are the figures of a database for its operator. An unknown figure is negative.
type Stats struct {
	Connections   int64 // of readers (SQLite), or the limit of the pool (PostgreSQL)
	InUse         int64 // connections in use
	WaitCount     int64 // callers that waited for a connection, since the start
	QueuedWrites  int64 // writes that wait for the writer (SQLite)
	DatabaseBytes int64
	WALBytes      int64 // of the write-ahead log (SQLite)
	DiskFreeBytes int64 // of the disk with the database (SQLite)
}

// Stats returns the figures without a query.
func (d *sqliteDB) Stats(context.Context) Stats {
	return Stats{
		Connections: int64(d.readers.Total()), InUse: int64(d.readers.InUse()), WaitCount: d.waitCount.Load(),
		QueuedWrites:  int64(d.writer.queued()),
		DatabaseBytes: fileSize(d.path), WALBytes: fileSize(d.path + "-wal"), DiskFreeBytes: freeBytes(d.path),
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

// Stats reads the size of the database with one query.
func (d *postgres) Stats(ctx context.Context) Stats {
	s := Stats{Connections: int64(d.slots.Total()), InUse: int64(d.slots.InUse()), WaitCount: d.waitCount.Load(),
		QueuedWrites: -1, DatabaseBytes: -1, WALBytes: -1, DiskFreeBytes: -1}
	_ = d.Read(ctx, "", func(c Conn) error { // the size is then unknown
		return c.QueryRow(`SELECT pg_database_size(current_database())`, nil, []any{&s.DatabaseBytes})
	})
	return s
}

// FileDescriptors returns the limit of file descriptors of an open database: PostgreSQL at url, or SQLite if url is
// empty.
func FileDescriptors(url string) (int, error) {
	if url != "" {
		config, err := parsePoolConfig(url)
		if err != nil {
			return 0, err
		}
		return int(config.MaxConns), nil
	}
	const (
		each  = 2 // the file and its write-ahead log
		other = 2 // the writer, and a connection for migrations and checks
	)
	return each*(readerCount()+other) + 2, nil // and the shared memory of the log, and the marker
}
