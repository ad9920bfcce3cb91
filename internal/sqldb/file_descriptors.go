package sqldb

import "runtime"

// readerCount returns the number of connections that read an SQLite database.
func readerCount() int { return max(4, 2*runtime.GOMAXPROCS(0)) }

// FileDescriptors returns the number of file descriptors that an open database holds
// at most: the PostgreSQL database at url, or an SQLite database where url is empty.
func FileDescriptors(url string) (int, error) {
	if url != "" {
		config, err := parsePoolConfig(url)
		if err != nil {
			return 0, err
		}
		return int(config.MaxConns), nil
	}
	const (
		each  = 2 // a connection opens the file and its write-ahead log
		other = 2 // a connection for migrations and checks, beside that of the writer
	)
	return each*(readerCount()+other) + 2, nil // and the shared memory of the log, and the marker
}
