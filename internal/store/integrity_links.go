package store

import (
	"errors"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// supersededStatus is the place of that status among loci.Statuses.
var supersededStatus = slices.Index(loci.MemoryStatuses, loci.MemorySuperseded)

// checkLinks looks at both ends of the links of a memory.
func (i *integrityChecker) checkLinks(m rawMemory) error {
	tell := func(what string) {
		i.report(InconsistentLinks, m.id, func(t *SystemTx) (string, error) {
			return t.repairLinks(m.rowID)
		}, "%s", what)
	}
	if m.supersededBy != "" {
		by, found, err := i.t.linkedMemory(i.workspace, m.supersededBy)
		if err != nil {
			return err
		}
		switch list, _ := sqldb.DecodeStrings(by.supersedes); {
		case m.status != supersededStatus:
			tell("it has a replacement and is not superseded")
		case !found:
			tell("its replacement is not there")
		case !slices.Contains(list, m.id):
			tell("its replacement does not know of it")
		}
	}
	ids, err := sqldb.DecodeStrings(m.supersedes)
	if err != nil {
		tell("what it supersedes cannot be read")
		return nil
	}
	right, err := i.t.supersededBy(i.workspace, m.id, ids)
	if err == nil && !slices.Equal(right, ids) {
		tell("it supersedes what does not know of it, or the same twice")
	}
	return err
}

// linkedMemory returns the row of a memory that another one of the workspace names.
func (t *Tx) linkedMemory(workspace int64, id string) (m rawMemory, found bool, err error) {
	err = m.scan(sqldb.ScanFunc{Func: func(dest ...any) error {
		return t.conn.QueryRow(`SELECT`+rawMemoryColumns+`FROM memories e WHERE e.id = ?1 AND e.workspace = ?2`,
			[]any{id, workspace}, dest)
	}})
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
		if found && m.supersededBy == by && m.status == supersededStatus && !slices.Contains(right, id) {
			right = append(right, id)
		}
	}
	return right, nil
}

// repairLinks makes both ends of a memory's links agree. The link of a
// superseded memory to an existing replacement is correct.
func (t *SystemTx) repairLinks(rowID int64) (string, error) {
	m, err := t.lockMemoryRow(rowID)
	if errors.Is(err, sqldb.ErrNoRows) {
		return alreadyDeleted, nil
	}
	if err != nil {
		return "", err
	}
	done := "made what it supersedes anew"
	if m.supersededBy != "" {
		by, found, err := t.t.linkedMemory(m.workspace, m.supersededBy)
		if err != nil {
			return "", err
		}
		if m.status != supersededStatus || !found {
			done = "took the replacement away"
			_, err = t.t.exec(`UPDATE memories SET superseded_by = '' WHERE row_id = ?1`, rowID)
		} else if by, err = t.lockMemoryRow(by.rowID); err == nil {
			list, _ := sqldb.DecodeStrings(by.supersedes)
			if !slices.Contains(list, m.id) {
				done = "told its replacement"
				err = t.t.setSupersedes(by.id, append(list, m.id))
			}
		}
		if err != nil {
			return "", err
		}
	}
	ids, _ := sqldb.DecodeStrings(m.supersedes)
	right, err := t.t.supersededBy(m.workspace, m.id, ids)
	if err != nil {
		return "", err
	}
	return done, t.t.setSupersedes(m.id, right)
}
