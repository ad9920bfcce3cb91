package embeddb

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A result is the outcome of a job. It holds vectors, or a memory of the workspace with the vectors of the same text.
type result struct {
	textJob
	textHash int64
	vectors  [][]byte
	copyFrom int64 // row id of that memory, or 0
}

// findEmbeddedText returns a memory of the workspace with the vectors of a text, or 0. It takes none with damaged
// vectors.
func findEmbeddedText(t *sqldb.Tx, workspace, generation, text int64) (memory int64, err error) {
	err = t.QueryRow(
		`SELECT o.memory FROM (SELECT memory FROM vectors WHERE workspace = ?1 AND generation = ?2 AND text_hash = ?3
			LIMIT 1) o WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.memory = o.memory AND v.generation = ?2
			AND v.text_hash = ?3 AND`+sqldb.ChecksumTables()["vectors"].DamageCondition(t.Dialect, "v")+`)`,
		[]any{workspace, generation, text}, []any{&memory})
	if errors.Is(err, sqldb.ErrNoRows) {
		return 0, nil
	}
	return memory, err
}

// writeResults stores the results whose memories still have the same text. If the model is not the active one any more,
// it requeues them all.
func (w *Worker) writeResults(t *sqldb.Tx, leaseUntil loci.Time, results []result) error {
	if active, err := isActiveModel(t, w.generation); err != nil || !active {
		for _, r := range results {
			err = errors.Join(err, requeue(t, r.textJob, leaseUntil, ""))
		}
		return err
	}
	// All writers of results lock the rows of indexes in this order.
	results = slices.SortedStableFunc(slices.Values(results), func(a, b result) int {
		return cmp.Compare(a.workspace, b.workspace)
	})
	var seq int64
	for i, r := range results {
		if i == 0 || r.workspace != results[i-1].workspace {
			err := t.QueryRow(
				`UPDATE keyword_indexes SET vector_seq = vector_seq + 1, generation = CASE WHEN generation = 0 THEN
					CAST(?2 AS BIGINT) ELSE generation END
				WHERE workspace = ?1 RETURNING vector_seq`, []any{r.workspace, w.generation}, []any{&seq})
			if errors.Is(err, sqldb.ErrNoRows) {
				seq = 0 // the workspace was purged
			} else if err != nil {
				return err
			}
		}
		if seq == 0 {
			continue
		}
		n, err := t.Exec(`DELETE FROM embedding_queue WHERE memory = ?1 AND due = ?2`, r.memory, leaseUntil)
		if err == nil && n == 1 {
			err = w.writeVectors(t, seq, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeVectors stores the current vectors of a memory. It keeps those of the previous text for a revert, and deletes
// earlier ones. It enqueues the memory again if the vectors to copy were deleted meanwhile.
func (w *Worker) writeVectors(t *sqldb.Tx, seq int64, r result) (err error) {
	n := int64(len(r.vectors))
	switch r.copyFrom {
	case 0:
		for i, v := range r.vectors {
			_, err := t.Exec(
				`INSERT INTO vectors (workspace, memory, generation, text_hash, chunk, seq, vector)
					VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
				ON CONFLICT (memory, generation, text_hash, chunk) DO UPDATE SET seq = excluded.seq`,
				r.workspace, r.memory, w.generation, r.textHash, i, seq, v)
			if err != nil {
				return err
			}
		}
	case r.memory:
		n, err = t.Exec(`UPDATE vectors SET seq = ?1 WHERE memory = ?2 AND generation = ?3 AND text_hash = ?4`, seq,
			r.memory, w.generation, r.textHash)
	default:
		n, err = t.Exec(`INSERT INTO vectors (workspace, memory, generation, text_hash, chunk, seq, vector)
			SELECT workspace, CAST(?1 AS BIGINT), generation, text_hash, chunk, CAST(?2 AS BIGINT), vector FROM vectors
			WHERE memory = ?3 AND generation = ?4 AND text_hash = ?5
			ON CONFLICT (memory, generation, text_hash, chunk) DO UPDATE SET seq = excluded.seq`, r.memory, seq,
			r.copyFrom, w.generation, r.textHash)
	}
	if err == nil && n == 0 {
		return w.Enqueue(t, r.memory)
	}
	if err == nil {
		_, err = t.Exec(
			`DELETE FROM vectors WHERE memory = ?1 AND generation = ?2 AND seq < (SELECT max(v.seq) FROM vectors v
				WHERE v.memory = ?1 AND v.generation = ?2 AND v.seq < ?3)`,
			r.memory, w.generation, seq)
	}
	return err
}

// TextHash returns the hash of an embedded text. Equal texts have equal vectors.
func TextHash(title, content string) int64 {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(title))))
	h.Write([]byte(title))
	h.Write([]byte(content))
	return int64(binary.BigEndian.Uint64(h.Sum(nil)))
}
