package integrity

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// maxTime is the last moment that RFC 3339 can express.
const maxTime = 253402300799999999

// checkAttachments checks the attachments of some memories, and what is derived from these and from the memories.
func (w *workspaceCheck) checkAttachments(memories []int64) error {
	if err := w.checkAttachmentRows(memories); err != nil {
		return err
	}
	moved, lists, err := wrongAttachments(w.t, memories)
	for _, id := range moved {
		w.differ(InconsistentAttachments, "the attachment %s names another atlas than its memory", id)
	}
	for _, m := range lists {
		for _, id := range m.lost {
			w.report(InconsistentReferences, m.id, "it lists the attachment %.100q, which is not there", id)
		}
		if m.differs {
			w.differ(InconsistentAttachments, "the memory %s lists other attachments than it has", m.id)
		}
	}
	return err
}

// checkAttachmentRows reports the attachments with values that no call can have stored.
func (w *workspaceCheck) checkAttachmentRows(memories []int64) error {
	return w.t.Query(`SELECT x.id, x.file_name, x.sha256, x.stored_sha256, x.active,
		`+sqldb.IntegerCondition("x.size", 0, math.MaxInt64)+`,`+sqldb.IntegerCondition("x.created_at", 1, maxTime)+`
		FROM attachments x WHERE `+fmt.Sprintf(w.t.Dialect.InList, "x.memory", 1)+` ORDER BY x.row_id`,
		[]any{sqldb.EncodeInts(memories)}, func(r sqldb.Row) error {
			var id loci.ID
			var name, sum, stored string
			var isActive, hasSize, hasTime bool
			if err := r.Scan(&id, &name, &sum, &stored, &isActive, &hasSize, &hasTime); err != nil {
				return err
			}
			if !id.Valid() || name == "" || !hasSize || !hasTime {
				w.report(InconsistentAttachments, id,
					"the id, the name, the size or the time of the attachment is invalid")
			}
			isConfirmed := sum == stored && isSHA256(sum)
			isPending := !isActive && (sum == "" || isSHA256(sum)) && (stored == "" || isSHA256(stored))
			if !isConfirmed && !isPending {
				w.report(InconsistentAttachments, id, "the checksums of the attachment are invalid, or differ")
			}
			return nil
		})
}

func isSHA256(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// A listedMemory is a memory with the ids of its active attachments, the oldest first, after those that it lists and
// that have no row.
type listedMemory struct {
	rowID      int64
	id         loci.ID
	want, lost []loci.ID
	differs    bool
}

// atHome is true of a memory e whose atlas is in its workspace. That of another one is damage, which attachments must
// not copy.
const atHome = ` EXISTS (SELECT 1 FROM atlases a WHERE a.row_id = e.atlas AND a.workspace = e.workspace) `

// wrongAttachments returns the attachments of some memories that name another atlas, and the memories that list other
// attachments than their active ones. The list of a damaged memory may be wrong itself.
func wrongAttachments(t *sqldb.Tx, memories []int64) (moved []loci.ID, lists []listedMemory, err error) {
	active, known := map[int64][]loci.ID{}, map[loci.ID]bool{}
	args := []any{sqldb.EncodeInts(memories)}
	if err = t.Query(`SELECT x.memory, x.id, x.active, x.atlas = e.atlas OR NOT`+atHome+`FROM attachments x
		JOIN memories e ON e.row_id = x.memory WHERE `+fmt.Sprintf(t.Dialect.InList, "x.memory", 1)+`
		ORDER BY x.created_at, x.id`, args, func(r sqldb.Row) error {
		var memory int64
		var id loci.ID
		var isActive, isAtHome bool
		err := r.Scan(&memory, &id, &isActive, &isAtHome)
		if known[id] = true; isActive {
			active[memory] = append(active[memory], id)
		}
		if !isAtHome {
			moved = append(moved, id)
		}
		return err
	}); err != nil {
		return nil, nil, err
	}
	err = t.Query(`SELECT e.row_id, e.id, e.attachments, e.attachments <> '[]' AND`+damagedMemory(t)+`FROM memories e WHERE `+
		fmt.Sprintf(t.Dialect.InList, "e.row_id", 1)+` ORDER BY e.row_id`, args, func(r sqldb.Row) error {
		var m listedMemory
		var text string
		var isDamaged bool
		if err := r.Scan(&m.rowID, &m.id, &text, &isDamaged); err != nil || isDamaged {
			return err
		}
		list, invalid := sqldb.DecodeStrings[loci.ID](text)
		for _, id := range list {
			if !known[id] {
				m.lost = append(m.lost, id)
			}
		}
		m.want = append(slices.Clone(m.lost), active[m.rowID]...)
		slices.Sort(list)
		m.differs = invalid != nil || !slices.Equal(list, slices.Sorted(slices.Values(m.want)))
		if m.differs || len(m.lost) > 0 {
			lists = append(lists, m)
		}
		return nil
	})
	return moved, lists, err
}

// damagedMemory returns the condition of a memory e that does not match its checksum.
func damagedMemory(t *sqldb.Tx) string {
	return sqldb.Tables()["memories"].DamageCondition(t.Dialect, "e")
}

// rebuildAttachments gives attachments the atlas of their memory, and lists those of memories again.
func rebuildAttachments(_ *Checker, t *sqldb.Tx, memories []int64) error {
	for _, rowID := range memories { // no attachment becomes active meanwhile
		if _, err := indexdb.LockMemoryRow(t, rowID); err != nil && !errors.Is(err, sqldb.ErrNoRows) {
			return err
		}
	}
	if _, err := t.Exec(`UPDATE attachments SET atlas = e.atlas FROM memories e WHERE e.row_id = attachments.memory
		AND attachments.atlas <> e.atlas AND `+fmt.Sprintf(t.Dialect.InList, "attachments.memory", 1)+` AND`+atHome,
		sqldb.EncodeInts(memories)); err != nil {
		return err
	}
	_, lists, err := wrongAttachments(t, memories)
	for _, m := range lists {
		if err == nil && m.differs {
			err = attachmentdb.SetActiveList(t, m.rowID, append([]loci.ID{}, m.want...))
		}
	}
	return err
}
