package sqldb

import (
	"context"
	"os"
)

// Stats are the figures of a database that an operator watches. A figure that is
// not known is negative.
type Stats struct {
	Connections   int64 // that read (SQLite), or that the pool may have (PostgreSQL)
	InUse         int64 // of them
	WaitCount     int64 // callers that found none free, since the start
	QueuedWrites  int64 // writes that wait for their turn (SQLite)
	DatabaseBytes int64 // bytes
	WALBytes      int64 // bytes of the write-ahead log (SQLite)
	DiskFreeBytes int64 // bytes of disk that are free for the database (SQLite)
}

func (d *sqliteDB) Stats(context.Context) Stats {
	return Stats{
		Connections: int64(d.readers.len()), InUse: int64(d.readers.inUse()), WaitCount: d.waitCount.Load(),
		QueuedWrites:  int64(d.writer.queued()),
		DatabaseBytes: fileSize(d.path), WALBytes: fileSize(d.path + "-wal"), DiskFreeBytes: freeBytes(d.path),
	}
}

// fileSize returns the bytes of a file, -1 where it cannot be read.
func fileSize(path string) int64 {
	i, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return i.Size()
}

func (d *postgres) Stats(ctx context.Context) Stats {
	s := Stats{Connections: int64(d.slots.capacity), InUse: int64(d.slots.inUse()), WaitCount: d.waitCount.Load(),
		QueuedWrites: -1, DatabaseBytes: -1, WALBytes: -1, DiskFreeBytes: -1}
	_ = d.Read(ctx, "", func(c Conn) error { // what is not known stays out
		return c.QueryRow(`SELECT pg_database_size(current_database())`, nil, []any{&s.DatabaseBytes})
	})
	return s
}
