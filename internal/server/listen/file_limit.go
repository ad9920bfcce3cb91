package listen

import (
	"fmt"

	"github.com/loci-memory/loci/internal/limit"
)

// Bounds of the connections, and file descriptors of the server.
const (
	minConnections   = 8
	maxConnections   = 100_000
	baseFiles        = 16   // standard streams, listeners, polling, the lock, an embedding service
	recommendedFiles = 4096 // at least
)

// A FileBudget divides the file descriptors of the process. Without a free one the database cannot open its files.
type FileBudget struct {
	limit    uint64 // of the process
	required uint64 // of the server and its database
}

// NewFileBudget divides the file descriptors of a server whose database needs some. It rejects a limit that is too low
// for the server.
func NewFileBudget(database int) (FileBudget, error) { return NewFileBudgetOf(openFiles(), database) }

// NewFileBudgetOf is NewFileBudget with the limit of another process.
func NewFileBudgetOf(limit uint64, database int) (FileBudget, error) {
	b := FileBudget{limit, baseFiles + uint64(database)}
	if least := b.required + minConnections; limit < least {
		return b, fmt.Errorf("the limit of open files is %d, and the server needs at least %d: %s", limit, least,
			b.advice())
	}
	return b, nil
}

// Connections returns how many connections the server accepts at a time: two of three file descriptors beyond the
// required ones. Transfers use half of the others.
func (b FileBudget) Connections() int {
	return int(min(maxConnections, max(minConnections, (b.limit-b.required)/3*2)))
}

// Transfers returns how many uploads and downloads of files the server runs at a time. Each holds two file descriptors
// beside its connection.
func (b FileBudget) Transfers() int { return max(2, b.Connections()/8) }

// recommended returns the limit below which the server warns.
func (b FileBudget) recommended() uint64 { return max(recommendedFiles, 2*b.required) }

func (b FileBudget) advice() string {
	n := b.recommended()
	return fmt.Sprintf("set it to %d or more (ulimit -n %d, or LimitNOFILE=%d in a unit of systemd)", n, n, n)
}

// Warning returns advice to the operator, or "".
func (b FileBudget) Warning() string {
	if b.limit >= b.recommended() {
		return ""
	}
	return fmt.Sprintf("the limit of open files is %d, so that at most %d connections are served at a time, %d of a "+
		"user or a network: %s", b.limit, b.Connections(), limit.Share(b.Connections()), b.advice())
}
