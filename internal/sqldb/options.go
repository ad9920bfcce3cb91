package sqldb

import (
	"cmp"
	"io/fs"
	"log/slog"
	"time"
)

// Options say how a database is opened.
type Options struct {
	Log         *slog.Logger  // nil logs nothing
	OneShot     bool          // the process runs for one command
	KeepSchema  bool          // refuses a database of an earlier schema in place of upgrading it
	BusyTimeout time.Duration // of callers that wait for a connection, a lock or their turn; 0 is 10 s
	MaxWALSize  int64         // of SQLite, in bytes; 0 is 64 MiB
	Migrations  fs.FS         // folders migrations/sqlite and migrations/postgres; nil takes those of the program
}

// busyTimeoutOrDefault returns how long a caller waits before it is told that the
// service is busy.
func (o Options) busyTimeoutOrDefault() time.Duration {
	return cmp.Or(o.BusyTimeout, 10*time.Second)
}
