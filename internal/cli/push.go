package cli

import (
	"context"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/transfer"
	"github.com/loci-memory/loci/internal/replica"
	"github.com/loci-memory/loci/internal/server"
)

// openTransfer opens the local database and the server of the target for push and pull.
func (p *program) openTransfer(ctx context.Context) (*transfer.Session, error) {
	t, err := p.resolveTarget()
	if err != nil {
		return nil, err
	}
	if t.url == "" {
		return nil, loci.Errorf(loci.CodeInvalidQuery,
			"There is no server: use loci login <url>, name it with --server, or set LOCI_URL and LOCI_API_KEY.")
	}
	p.useTarget(t)
	dir := p.localDir()
	if err := (target{dir: dir}).requireDir(); err != nil {
		return nil, err
	}
	remote, endRemote, err := p.openCaller(ctx, t, false)
	if err != nil {
		return nil, err
	}
	l, unlock, err := openLocked(ctx, dir)
	if err != nil {
		return nil, errors.Join(err, endRemote())
	}
	return &transfer.Session{Local: l.Host, Remote: remote, Server: t.url,
		Ledger: func(account loci.ID) replica.Ledger { return l.Pairs(account) },
		// the close of the database embeds texts, which hinders no other push or pull
		Close: func() error { return errors.Join(unlock(), l.Close(), endRemote()) }}, nil
}

// openLocked opens the local database, which no other push or pull uses meanwhile.
func openLocked(ctx context.Context, dir string) (*server.Local, func() error, error) {
	if err := ensurePrivateDir(dir); err != nil {
		return nil, nil, err
	}
	unlock, err := server.LockSync(dir)
	if err != nil {
		return nil, nil, err
	}
	l, err := server.OpenLocal(ctx, dir, true)
	if err != nil {
		return nil, nil, errors.Join(err, unlock())
	}
	return l, unlock, nil
}
