package cli

import (
	"context"

	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/service"
)

// parts are what the commands of the table stand on.
type parts struct {
	table     *op.Table
	openLocal func(ctx context.Context, dir string, brief bool) (op.Caller, func() error, error)
}

var wired = parts{table: service.Ops, openLocal: func(ctx context.Context, dir string, brief bool) (op.Caller, func() error, error) {
	l, err := server.OpenLocal(ctx, dir, brief)
	if err != nil {
		return nil, nil, err
	}
	return l.Host, l.Close, nil
}}
