package server

import (
	"fmt"

	"github.com/loci-memory/loci/internal/store"
)

// Bounds of the connections, and the file descriptors that are left for the rest.
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

// fileBudget returns how a server with these settings divides its file descriptors.
// It refuses a limit with which the server cannot work.
func (s Settings) fileBudget(limit uint64) (fileBudget, error) {
	database, err := store.FileDescriptors(s.DB)
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

// connections returns how many connections the server accepts at a time. Of many
// file descriptors an eighth is left for the rest.
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

// warning returns what the operator should mend, or nothing.
func (b fileBudget) warning() string {
	if b.limit >= b.recommended() {
		return ""
	}
	return fmt.Sprintf("the limit of open files is %d, so that at most %d connections are served at a time: %s",
		b.limit, b.connections(), b.advice())
}
