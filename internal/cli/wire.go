package cli

import (
	"context"
	"io"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// parts are the rooms that the program stands on.
type parts struct {
	table     *op.Table
	settings  []setting
	openLocal func(ctx context.Context, dir string) (op.Caller, func() error, error)
	runServer func(ctx context.Context, flags map[string]string, environ []string, out, err io.Writer) error
	openAdmin func(ctx context.Context, flags map[string]string, environ []string) (administrator, error)
}

// A setting of the server, as a flag.
type setting struct{ flag, env, usual, help string }

// An administrator works in the database of a server.
type administrator interface {
	CreateUser(ctx context.Context, email, name, password string) (loci.User, error)
	CreateKey(ctx context.Context, email, name string) (loci.CreatedKey, error)
	Close() error
}

var wired = parts{table: &op.Table{}}
