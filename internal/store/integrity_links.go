package store

import (
	"errors"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// supersededStatus is the place of that status among loci.Statuses.
var supersededStatus = slices.Index(loci.MemoryStatuses, loci.MemorySuperseded)

// checkLinks looks at both ends of the links of a memory.
func (i *integrityChecker) checkLinks(m indexdb.MemoryRow) error {
	tell := func(what string) {
		i.report(InconsistentLinks, m.ID, func(t *SystemTx) (string, error) {
			return t.repairLinks(m.RowID)
		}, "%s", what)
	}
	if m.SupersededBy != "" {
		by, found, err := i.t.linkedMemory(i.workspace, m.SupersededBy)
		if err != nil {
			return err
		}
		switch list, _ := sqldb.DecodeStrings(by.Supersedes); {
		case m.Status != supersededStatus:
			tell("it has a replacement and is not superseded")
		case !found:
			tell("its replacement is not there")
		case !slices.Contains(list, m.ID):
			tell("its replacement does not know of it")
		}
	}
	ids, err := sqldb.DecodeStrings(m.Supersedes)
	if err != nil {
		tell("what it supersedes cannot be read")
		return nil
	}
	right, err := i.t.supersededBy(i.workspace, m.ID, ids)
	if err == nil && !slices.Equal(right, ids) {
		tell("it supersedes what does not know of it, or the same twice")
	}
	return err
}

// linkedMemory returns the row of a memory that another one of the workspace names.
func (t *Tx) linkedMemory(workspace int64, id string) (m indexdb.MemoryRow, found bool, err error) {
	err = m.Scan(t.conn.Row(`SELECT`+indexdb.MemoryColumns+`FROM memories e WHERE e.id = ?1 AND e.workspace = ?2`, id,
		workspace))
	if errors.Is(err, sqldb.ErrNoRows) {
		return m, false, nil
	}
	return m, err == nil, err
}

// supersededBy returns those of the memories that have that one as replacement,
// each once.
func (t *Tx) supersededBy(workspace int64, by string, ids []string) ([]string, error) {
	right := []string{}
	for _, id := range ids {
		m, found, err := t.linkedMemory(workspace, id)
		if err != nil {
			return nil, err
		}
		if found && m.SupersededBy == by && m.Status == supersededStatus && !slices.Contains(right, id) {
			right = append(right, id)
		}
	}
	return right, nil
}

// repairLinks makes both ends of a memory's links agree. The link of a
// superseded memory to an existing replacement is correct.
func (t *SystemTx) repairLinks(rowID int64) (string, error) {
	m, err := indexdb.LockMemoryRow(t.t.conn, rowID)
	if errors.Is(err, sqldb.ErrNoRows) {
		return alreadyDeleted, nil
	}
	if err != nil {
		return "", err
	}
	done := "made what it supersedes anew"
	if m.SupersededBy != "" {
		by, found, err := t.t.linkedMemory(m.Workspace, m.SupersededBy)
		if err != nil {
			return "", err
		}
		if m.Status != supersededStatus || !found {
			done = "took the replacement away"
			_, err = t.t.exec(`UPDATE memories SET superseded_by = '' WHERE row_id = ?1`, rowID)
		} else if by, err = indexdb.LockMemoryRow(t.t.conn, by.RowID); err == nil {
			list, _ := sqldb.DecodeStrings(by.Supersedes)
			if !slices.Contains(list, m.ID) {
				done = "told its replacement"
				err = t.t.setSupersedes(by.ID, append(list, m.ID))
			}
		}
		if err != nil {
			return "", err
		}
	}
	ids, _ := sqldb.DecodeStrings(m.Supersedes)
	right, err := t.t.supersededBy(m.Workspace, m.ID, ids)
	if err != nil {
		return "", err
	}
	return done, t.t.setSupersedes(m.ID, right)
}
