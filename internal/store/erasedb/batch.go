package erasedb

import (
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/jobdb"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/minhashdb"
)

// erase deletes the memories with the stored responses that show them, their bands, links and attachments.
func (b batch) erase(t *sqldb.Tx, jobs *jobdb.Queue) error {
	if err := scope.DeleteResponses(t, b.ids...); err != nil {
		return err
	}
	for _, m := range b.memories {
		if err := minhashdb.Delete(t, m.workspace, m.rowID, m.bands); err != nil {
			return err
		}
	}
	if err := b.removeLinks(t); err != nil {
		return err
	}
	if err := memorydb.DeleteAttachments(t, jobs, fmt.Sprintf(t.Dialect.InList, "memory", 1),
		sqldb.EncodeInts(b.rowIDs)); err != nil {
		return err
	}
	_, err := t.Exec(`DELETE FROM memories WHERE `+fmt.Sprintf(t.Dialect.InList, "row_id", 1),
		sqldb.EncodeInts(b.rowIDs))
	return err
}

// removeLinks removes the memories from the links of those in other atlases. The memories that they replaced can be
// restored.
func (b batch) removeLinks(t *sqldb.Tx) error {
	var replaced, replacements []loci.ID
	for _, m := range b.memories {
		replaced = append(replaced, m.supersedes...)
		if m.supersededBy != "" {
			replacements = append(replacements, m.supersededBy)
		}
	}
	atlas := b.memories[0].atlas
	if len(replaced) > 0 {
		// One that was restored meanwhile may have another replacement.
		if _, err := t.Exec(`UPDATE memories SET superseded_by = '' WHERE atlas <> ?3
			AND id IN (SELECT list.value FROM `+fmt.Sprintf(t.Dialect.StringRows, 1)+`)
			AND superseded_by IN (SELECT list.value FROM `+fmt.Sprintf(t.Dialect.StringRows, 2)+`)`,
			sqldb.EncodeStrings(replaced), sqldb.EncodeStrings(b.ids), atlas); err != nil {
			return err
		}
	}
	if len(replacements) == 0 {
		return nil
	}
	lists := map[int64]string{}
	if err := t.Query(`SELECT e.row_id, e.supersedes FROM memories e WHERE e.atlas <> ?2 AND e.id IN
		(SELECT list.value FROM `+fmt.Sprintf(t.Dialect.StringRows, 1)+`) ORDER BY e.row_id`+
		t.LockClause("NO KEY UPDATE", "e"), []any{sqldb.EncodeStrings(replacements), atlas}, func(r sqldb.Row) error {
		var rowID int64
		var list string
		err := r.Scan(&rowID, &list)
		lists[rowID] = list
		return err
	}); err != nil {
		return err
	}
	for rowID, list := range lists {
		ids, err := sqldb.DecodeStrings[loci.ID](list)
		if err != nil {
			continue // damaged: an integrity check reports it
		}
		if _, err := t.Exec(`UPDATE memories SET supersedes = ?2 WHERE row_id = ?1`, rowID,
			sqldb.EncodeStrings(slices.DeleteFunc(ids, func(id loci.ID) bool {
				return slices.Contains(b.ids, id)
			}))); err != nil {
			return err
		}
	}
	return nil
}
