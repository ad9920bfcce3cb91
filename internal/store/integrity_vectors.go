package store

import (
	"errors"
	"fmt"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// checkVectors looks whether each memory has the vectors of its text, or waits for
// them, and whether those are what was written. Before a program with an embedder
// has worked here, there are none.
func (i *integrityChecker) checkVectors() error {
	var generation int64
	err := i.t.conn.QueryRow(
		`SELECT g.row_id FROM generations g JOIN metadata n ON n.name = 'vectors' AND n.value = g.name`, nil,
		[]any{&generation})
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return i.readInBatches(i.selected(), func(part []int64) error {
		have, err := i.embeddedTexts(part, generation)
		if err != nil {
			return err
		}
		broken, err := i.corruptVectors(part, generation)
		if err != nil {
			return err
		}
		return i.readRows(part, func(m indexdb.MemoryRow) error {
			text, there := have[m.RowID]
			switch {
			case broken[m.RowID]:
				i.report(InconsistentVectors, m.ID, i.repairByReembedding(m.RowID, generation),
					"the checksum of a vector is another one")
			case !there:
				i.report(InconsistentVectors, m.ID, i.repairByEmbedding(m.RowID),
					"it has no vectors and does not wait for any")
			case text != 0 && text != embeddb.TextHash(m.Title, m.Content) && corruption(&m) == "":
				i.report(InconsistentVectors, m.ID, i.repairByEmbedding(m.RowID),
					"its vectors are those of another text")
			}
			return nil
		})
	})
}

// embeddedTexts returns, of memories, the hash of the text whose vectors are the
// present ones, or zero for who waits.
func (i *integrityChecker) embeddedTexts(rowIDs []int64, generation int64) (map[int64]int64, error) {
	have := map[int64]int64{}
	in := fmt.Sprintf(i.t.conn.Dialect.InList, "memory", 1)
	err := i.t.conn.Query(`SELECT memory, text_hash FROM vectors v WHERE `+in+` AND generation = ?2 AND chunk = 0
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

// corruptVectors returns those of the memories that have a vector with another
// checksum than its own.
func (i *integrityChecker) corruptVectors(rowIDs []int64, generation int64) (map[int64]bool, error) {
	broken := map[int64]bool{}
	err := i.t.conn.Query(`SELECT memory, text_hash, chunk, vector, checksum FROM vectors WHERE `+
		fmt.Sprintf(i.t.conn.Dialect.InList, "memory", 1)+` AND generation = ?2`,
		[]any{sqldb.EncodeInts(rowIDs), generation}, func(r sqldb.Row) error {
			var memory, text, sum int64
			var passage int
			var vector []byte
			err := r.Scan(&memory, &text, &passage, &vector, &sum)
			if err == nil && sum != embeddb.VectorChecksum(text, passage, vector) {
				broken[memory] = true
			}
			return err
		})
	return broken, err
}

func (i *integrityChecker) repairByEmbedding(rowID int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) {
		if _, err := indexdb.LockMemoryRow(t.t.conn, rowID); err != nil {
			if errors.Is(err, sqldb.ErrNoRows) {
				return alreadyDeleted, nil
			}
			return "", err
		}
		return "waits for them now", t.t.store.embedder.Enqueue(t.t.conn, rowID)
	}
}

// repairByReembedding takes the vectors of a memory away, so that none of them is used again.
func (i *integrityChecker) repairByReembedding(rowID, generation int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) {
		if _, err := t.t.exec(`DELETE FROM vectors WHERE memory = ?1 AND generation = ?2`, rowID,
			generation); err != nil {
			return "", err
		}
		return i.repairByEmbedding(rowID)(t)
	}
}
