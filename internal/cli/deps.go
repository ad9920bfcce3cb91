package cli

import (
	"context"

	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/service"
)

// deps are the dependencies of the commands.
type deps struct {
	table     *op.Table
	openLocal func(ctx context.Context, dir string, oneShot bool) (op.Caller, func() error, error)
}

var defaultDeps = deps{table: service.Ops, openLocal: func(ctx context.Context, dir string, oneShot bool) (op.Caller,
	func() error, error) {
	l, err := server.OpenLocal(ctx, dir, oneShot)
	if err != nil {
		return nil, nil, err
	}
	return l.Host, l.Close, nil
}}
