package integrity

import (
	"errors"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// supersededStatus is the index of that status in loci.MemoryStatuses.
var supersededStatus = slices.Index(loci.MemoryStatuses, loci.MemorySuperseded)

// checkLinks checks both ends of the links of a memory, but those with a damaged one: its status may be wrong.
func (w *workspaceCheck) checkLinks(m indexdb.MemoryRow) error {
	report := func(what string) { w.differ(InconsistentLinks, "memory %s: %s", m.ID, what) }
	if m.SupersededBy != "" {
		by, found, err := linkedMemory(w.t, w.workspace, m.SupersededBy, "")
		if err != nil {
			return err
		}
		switch list, _ := sqldb.DecodeStrings[loci.ID](by.Supersedes); {
		case m.Status != supersededStatus:
			report("it has a replacement and is not superseded")
		case !found:
			w.report(InconsistentReferences, m.ID, "its replacement, the memory %.100q, is not there", m.SupersededBy)
		case !slices.Contains(list, m.ID) && !by.IsDamaged:
			report("its replacement does not list it")
		}
	}
	ids, err := sqldb.DecodeStrings[loci.ID](m.Supersedes)
	if err != nil {
		report("what it supersedes cannot be read")
		return nil
	}
	right, lost, err := supersededBy(w.t, w.workspace, m.ID, ids)
	for _, id := range lost {
		w.report(InconsistentReferences, m.ID, "it replaces the memory %.100q, which is not there", id)
	}
	if err == nil && !slices.Equal(right, ids) {
		report("it lists a memory that it has not superseded, or the same twice")
	}
	return err
}

// linkedMemory returns the row of a memory by its id, under a lock if that is not empty.
func linkedMemory(t *sqldb.Tx, workspace int64, id loci.ID, lock string) (m indexdb.MemoryRow, found bool, err error) {
	err = m.Scan(t.Row(`SELECT`+indexdb.MemoryRowColumns(t.Dialect)+`FROM memories e WHERE e.id = ?1 AND e.workspace = ?2`+
		lock, id, workspace))
	if errors.Is(err, sqldb.ErrNoRows) {
		return m, false, nil
	}
	return m, err == nil, err
}

// supersededBy returns the memories of ids that the memory by has superseded, the damaged ones and the lost ones, each
// once.
func supersededBy(t *sqldb.Tx, workspace int64, by loci.ID, ids []loci.ID) (right, lost []loci.ID, err error) {
	right = []loci.ID{}
	for _, id := range ids {
		m, found, err := linkedMemory(t, workspace, id, "")
		if err != nil {
			return nil, nil, err
		}
		if !found {
			lost = append(lost, id)
		}
		isRight := m.SupersededBy == by && m.Status == supersededStatus || m.IsDamaged || !found
		if isRight && !slices.Contains(right, id) {
			right = append(right, id)
		}
	}
	return right, lost, nil
}

// rebuildLinks makes both ends of the links of memories agree. It trusts the link of a superseded memory to an existing
// replacement. Links with a damaged or a lost end stay.
func rebuildLinks(_ *Checker, t *sqldb.Tx, rowIDs []int64) error {
	for _, rowID := range rowIDs {
		list, err := lockProved(t, []int64{rowID})
		if err == nil && len(list) > 0 && (list[0].SupersededBy != "" || list[0].Supersedes != sqldb.EmptyList) {
			err = rebuildLinksOf(t, list[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func rebuildLinksOf(t *sqldb.Tx, m indexdb.MemoryRow) error {
	if m.SupersededBy != "" {
		by, found, err := linkedMemory(t, m.Workspace, m.SupersededBy, t.LockClause("NO KEY UPDATE", "e"))
		if err != nil {
			return err
		}
		if m.Status != supersededStatus {
			_, err = t.Exec(`UPDATE memories SET superseded_by = '' WHERE row_id = ?1`, m.RowID)
		} else if list, _ := sqldb.DecodeStrings[loci.ID](by.Supersedes); found && !by.IsDamaged &&
			!slices.Contains(list, m.ID) {
			err = memorydb.SetSupersedes(t, by.ID, append(list, m.ID))
		}
		if err != nil {
			return err
		}
	}
	ids, _ := sqldb.DecodeStrings[loci.ID](m.Supersedes)
	right, _, err := supersededBy(t, m.Workspace, m.ID, ids)
	if err != nil {
		return err
	}
	return memorydb.SetSupersedes(t, m.ID, right)
}
