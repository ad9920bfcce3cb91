package server

import (
	"fmt"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/pairdb"
)

// Pairs returns the pairs of memories here and of an account on a server.
func (l *Local) Pairs(account loci.ID) *pairdb.Pairs {
	return pairdb.New(l.store.DB(), l.owner, account)
}

// LockSync locks the local database in dir for one push or pull. Other commands use it meanwhile.
func LockSync(dir string) (unlock func() error, err error) {
	l := flock.New(filepath.Join(dir, "loci.sync.lock"), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", l.Path(), err)
	}
	if !ok {
		return nil, loci.Errorf(loci.CodeConflict, "Another loci push or pull runs on this device: wait until it ends.")
	}
	return l.Unlock, nil
}
