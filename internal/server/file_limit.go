package server

import (
	"fmt"

	"github.com/loci-memory/loci/internal/sqldb"
)

// Bounds of the connections, and the file descriptors reserved for other uses.
const (
	minConnections   = 8
	maxConnections   = 100_000
	minReservedFiles = 40
	baseFiles        = 16   // standard streams, listeners, polling, the lock, an embedding service
	recommendedFiles = 1024 // at least
)

// A fileBudget divides the file descriptors of the process.
type fileBudget struct {
	limit    uint64 // of the process
	required uint64 // of the server and its database
}

// fileBudget divides the file descriptors of a server with these settings. It
// rejects a limit that is too low for the server.
func (s Settings) fileBudget(limit uint64) (fileBudget, error) {
	database, err := sqldb.FileDescriptors(s.DB)
	if err != nil {
		return fileBudget{}, err
	}
	b := fileBudget{limit, baseFiles + uint64(database)}
	if least := b.required + minConnections; limit < least {
		return b, fmt.Errorf("the limit of open files is %d, and the server needs at least %d: %s", limit, least,
			b.advice())
	}
	return b, nil
}

// connections returns how many connections the server accepts at a time. An
// eighth of many file descriptors is left for other uses.
func (b fileBudget) connections() int {
	files := min(b.limit, 2*maxConnections)
	reserved := max(minReservedFiles, files/8, b.required)
	return int(min(maxConnections, max(files, reserved+minConnections)-reserved))
}

// recommended returns the limit below which the server warns.
func (b fileBudget) recommended() uint64 { return max(recommendedFiles, 2*b.required) }

func (b fileBudget) advice() string {
	n := b.recommended()
	return fmt.Sprintf("set it to %d or more (ulimit -n %d, or LimitNOFILE=%d in a unit of systemd)", n, n, n)
}

// warning returns advice to the operator, or "".
func (b fileBudget) warning() string {
	if b.limit >= b.recommended() {
		return ""
	}
	return fmt.Sprintf("the limit of open files is %d, so that at most %d connections are served at a time: %s",
		b.limit, b.connections(), b.advice())
}
