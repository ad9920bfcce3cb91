package integrity

import (
	"errors"
	"fmt"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// checkVectors checks that each memory has the vectors of its text or is queued, and the checksums of the vectors. A
// database without an embedder so far has none.
func (w *workspaceCheck) checkVectors() error {
	var generation int64
	err := w.t.QueryRow(
		`SELECT g.row_id FROM generations g JOIN metadata n ON n.name = 'vectors' AND n.value = g.name`, nil,
		[]any{&generation})
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.readInBatches(w.selected(), func(part []int64) error {
		have, err := w.embeddedTexts(part, generation)
		if err != nil {
			return err
		}
		broken, err := w.corruptVectors(part, generation)
		if err != nil {
			return err
		}
		return w.readRows(part, func(m indexdb.MemoryRow) error {
			text, there := have[m.RowID]
			switch {
			case broken[m.RowID]:
				w.report(InconsistentVectors, m.ID, w.repairByReembedding(m.RowID, generation),
					"the checksum of a vector is another one")
			case !there:
				w.report(InconsistentVectors, m.ID, w.repairByEmbedding(m.RowID),
					"it has no vectors and does not wait for any")
			case text != 0 && text != embeddb.TextHash(m.Title, m.Content) && corruption(&m) == "":
				w.report(InconsistentVectors, m.ID, w.repairByEmbedding(m.RowID),
					"its vectors are those of another text")
			}
			return nil
		})
	})
}

// embeddedTexts returns the text hash of the current vectors, by memory. It is 0 for a queued memory.
func (w *workspaceCheck) embeddedTexts(rowIDs []int64, generation int64) (map[int64]int64, error) {
	have := map[int64]int64{}
	in := fmt.Sprintf(w.t.Dialect.InList, "memory", 1)
	err := w.t.Query(`SELECT memory, text_hash FROM vectors v WHERE `+in+` AND generation = ?2 AND chunk = 0
		AND seq = (SELECT max(p.seq) FROM vectors p WHERE p.memory = v.memory AND p.generation = ?2)
		UNION ALL SELECT memory, 0 FROM embedding_queue WHERE `+in, []any{sqldb.EncodeInts(rowIDs), generation},
		func(r sqldb.Row) error {
			var memory, text int64
			err := r.Scan(&memory, &text)
			if _, twice := have[memory]; !twice || text == 0 {
				have[memory] = text
			}
			return err
		})
	return have, err
}

// corruptVectors returns the memories with a vector whose checksum is wrong.
func (w *workspaceCheck) corruptVectors(rowIDs []int64, generation int64) (map[int64]bool, error) {
	broken := map[int64]bool{}
	err := w.t.Query(`SELECT memory, text_hash, chunk, vector, checksum FROM vectors WHERE `+
		fmt.Sprintf(w.t.Dialect.InList, "memory", 1)+` AND generation = ?2`,
		[]any{sqldb.EncodeInts(rowIDs), generation}, func(r sqldb.Row) error {
			var memory, text, sum int64
			var chunk int
			var vector []byte
			err := r.Scan(&memory, &text, &chunk, &vector, &sum)
			if err == nil && sum != embeddb.VectorChecksum(text, chunk, vector) {
				broken[memory] = true
			}
			return err
		})
	return broken, err
}

// repairByEmbedding adds a memory to the embedding queue.
func (w *workspaceCheck) repairByEmbedding(rowID int64) func(*sqldb.Tx) (string, error) {
	return func(t *sqldb.Tx) (string, error) {
		if _, err := indexdb.LockMemoryRow(t, rowID); err != nil {
			if errors.Is(err, sqldb.ErrNoRows) {
				return alreadyDeleted, nil
			}
			return "", err
		}
		return "waits for them now", w.checker.embedder.Enqueue(t, rowID)
	}
}

// repairByReembedding deletes the vectors of a memory before it queues that, so that none is copied.
func (w *workspaceCheck) repairByReembedding(rowID, generation int64) func(*sqldb.Tx) (string, error) {
	return func(t *sqldb.Tx) (string, error) {
		if _, err := t.Exec(`DELETE FROM vectors WHERE memory = ?1 AND generation = ?2`, rowID,
			generation); err != nil {
			return "", err
		}
		return w.repairByEmbedding(rowID)(t)
	}
}
