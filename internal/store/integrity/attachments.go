package integrity

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
)

// maxTime is the last moment that RFC 3339 can express.
const maxTime = 253402300799999999

// checkAttachments checks the attachments of memories, and the lists of the active ones.
func (w *workspaceCheck) checkAttachments() error {
	return w.readInBatches(w.selected(), func(part []int64) error {
		active, err := w.checkAttachmentRows(part)
		if err != nil {
			return err
		}
		return w.checkAttachmentLists(part, active)
	})
}

// checkAttachmentRows checks the attachments of some memories. It returns the ids of the active ones by memory.
func (w *workspaceCheck) checkAttachmentRows(memories []int64) (active map[int64][]loci.ID, err error) {
	active = map[int64][]loci.ID{}
	err = w.t.Query(`SELECT x.row_id, x.memory, x.id, x.file_name, x.sha256, x.stored_sha256, x.active, x.atlas = e.atlas,
		`+sqldb.IntegerCondition("x.size", 0, math.MaxInt64)+`,`+sqldb.IntegerCondition("x.created_at", 1, maxTime)+`
		FROM attachments x JOIN memories e ON e.row_id = x.memory WHERE `+
		fmt.Sprintf(w.t.Dialect.InList, "x.memory", 1)+` ORDER BY x.row_id`, []any{sqldb.EncodeInts(memories)},
		func(r sqldb.Row) error {
			var rowID, memory int64
			var id loci.ID
			var name, sum, stored string
			var isActive, isAtHome, hasSize, hasTime bool
			if err := r.Scan(&rowID, &memory, &id, &name, &sum, &stored, &isActive, &isAtHome, &hasSize,
				&hasTime); err != nil {
				return err
			}
			if isActive {
				active[memory] = append(active[memory], id)
			}
			report := func(set, says, detail string) {
				var repair func(*sqldb.Tx) (string, error)
				if set != "" {
					repair = func(t *sqldb.Tx) (string, error) {
						_, err := t.Exec(`UPDATE attachments SET `+set+` WHERE row_id = ?1`, rowID)
						return says, err
					}
				}
				w.report(InconsistentAttachments, id, repair, "%s", detail)
			}
			if !id.Valid() || name == "" || !hasSize {
				report("", "", "the id, the name or the size of the attachment is invalid")
			}
			if !isAtHome {
				report(`atlas = (SELECT e.atlas FROM memories e WHERE e.row_id = attachments.memory)`,
					"took the atlas of the memory", "the attachment names another atlas than its memory")
			}
			if !hasTime {
				report(`created_at = (SELECT e.created_at FROM memories e WHERE e.row_id = attachments.memory)`,
					"took the time of the memory", "the time of the attachment is invalid")
			}
			switch {
			case !isActive && (sum == "" || isSHA256(sum)) && (stored == "" || isSHA256(stored)):
			case isActive && sum == stored && isSHA256(sum):
			case isActive && isSHA256(sum) && !isSHA256(stored):
				report(`stored_sha256 = sha256`, "took the other checksum", "a checksum of the attachment is invalid")
			case isActive && isSHA256(stored) && !isSHA256(sum):
				report(`sha256 = stored_sha256`, "took the other checksum", "a checksum of the attachment is invalid")
			default:
				report("", "", "the checksums of the attachment are invalid, or differ")
			}
			return nil
		})
	return active, err
}

func isSHA256(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// checkAttachmentLists compares the lists in some memories with the active attachments.
func (w *workspaceCheck) checkAttachmentLists(memories []int64, active map[int64][]loci.ID) error {
	return w.t.Query(`SELECT e.row_id, e.id, e.attachments FROM memories e WHERE `+
		fmt.Sprintf(w.t.Dialect.InList, "e.row_id", 1)+` ORDER BY e.row_id`, []any{sqldb.EncodeInts(memories)},
		func(r sqldb.Row) error {
			var rowID int64
			var id loci.ID
			var text string
			if err := r.Scan(&rowID, &id, &text); err != nil {
				return err
			}
			list, err := sqldb.DecodeStrings[loci.ID](text)
			if slices.Sort(list); err == nil && slices.Equal(list, slices.Sorted(slices.Values(active[rowID]))) {
				return nil
			}
			w.report(InconsistentAttachments, id, func(t *sqldb.Tx) (string, error) {
				return writeAttachmentList(t, rowID)
			}, "the memory lists other attachments than it has")
			return nil
		})
}

// writeAttachmentList writes the list of the active attachments of a memory again, the oldest first.
func writeAttachmentList(t *sqldb.Tx, memory int64) (string, error) {
	if err := t.Query(`SELECT 1 FROM memories e WHERE e.row_id = ?1`+t.LockClause("UPDATE", "e"), []any{memory},
		func(sqldb.Row) error { return nil }); err != nil {
		return "", err
	}
	list := []loci.ID{}
	if err := t.Query(`SELECT x.id FROM attachments x WHERE x.memory = ?1 AND x.active ORDER BY x.created_at, x.id`,
		[]any{memory}, func(r sqldb.Row) error {
			var id loci.ID
			err := r.Scan(&id)
			list = append(list, id)
			return err
		}); err != nil {
		return "", err
	}
	return "listed them again", attachmentdb.SetActiveList(t, memory, list)
}
