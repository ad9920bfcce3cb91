package sqldb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// keptChanges is how many changes are kept at least for the streams that read them, and changeBatch how many more
// before some are deleted.
const keptChanges, changeBatch = 8192, 1024

// A change is that of a record in a workspace.
type change struct {
	record    string
	workspace int64
}

// MarshalJSON returns the pair for Dialect.PairRows.
func (c change) MarshalJSON() ([]byte, error) { return json.Marshal([]any{c.record, c.workspace}) }

// NoteChange records that the transaction changes a record of a workspace. Streams report it after the commit.
// With a user, other members than managers get no report.
func (t *Tx) NoteChange(kind loci.RecordKind, workspace int64, id, user loci.ID) {
	record := strings.TrimSpace(string(kind) + " " + string(id) + " " + string(user))
	if c := (change{record, workspace}); !slices.Contains(t.changes, c) {
		t.changes = append(t.changes, c)
	}
}

// storeChanges stores the noted changes. Now and then it deletes old ones.
func (t *Tx) storeChanges() error {
	if len(t.changes) == 0 {
		return nil
	}
	list, err := json.Marshal(t.changes)
	if err != nil {
		return err
	}
	var numbers []int64
	err = t.QueryFew(`INSERT INTO changes (record, workspace) SELECT list.name, list.number FROM `+
		fmt.Sprintf(t.Dialect.PairRows, 1)+` RETURNING row_id`, []any{string(list)}, ScanInts(&numbers))
	for _, n := range numbers {
		if err == nil && n%changeBatch == 0 {
			_, err = t.Exec(`DELETE FROM changes WHERE row_id <= ?1`, n-keptChanges)
		}
	}
	return err
}
