package indexdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// reindexBatchSize is how many memories are analyzed anew in one transaction.
const reindexBatchSize = 200

// ReindexOutdated reindexes the workspaces whose index is of an earlier analyzer. Its documents serve searches
// meanwhile. The index of a newer analyzer stays. A workspace that cannot be read does not stop the others.
func (x *Index) ReindexOutdated(ctx context.Context) error {
	workspaces, err := x.listOutdated(ctx)
	failed := []error{err}
	for _, workspace := range workspaces {
		err := x.reindexWorkspace(ctx, workspace)
		failed = append(failed, err)
		if ctx.Err() != nil || loci.Is(err, loci.CodeUnavailable) {
			break
		}
	}
	return errors.Join(failed...)
}

// ErrNewerAnalyzer means that a newer program has analyzed the memories of a workspace.
var ErrNewerAnalyzer = errors.New("indexdb: the index is of a newer analyzer")

// rejectNewer returns an error if an index is of a newer analyzer. Documents of this program would stay under the label
// of that one.
func (x *Index) rejectNewer(ctx context.Context) error {
	newest, err := sqldb.SystemRead(ctx, x.db, "look for indexes of a newer analyzer",
		func(t *sqldb.Tx) (newest int, err error) {
			return newest, t.QueryRow(`SELECT COALESCE(max(analyzer), 0) FROM keyword_indexes`, nil, []any{&newest})
		})
	if err == nil && newest > analysis.Version {
		err = fmt.Errorf("indexdb: a keyword index is of analyzer %d, this program knows %d: use a newer loci", newest,
			analysis.Version)
	}
	return err
}

// listOutdated lists the workspaces with an index of an earlier analyzer.
func (x *Index) listOutdated(ctx context.Context) ([]int64, error) {
	return sqldb.SystemRead(ctx, x.db, "look for indexes of an earlier analyzer",
		func(t *sqldb.Tx) (list []int64, err error) {
			err = t.Query(`SELECT workspace FROM keyword_indexes WHERE analyzer < ?1 ORDER BY analyzer, workspace`,
				[]any{analysis.Version}, sqldb.ScanInts(&list))
			return list, err
		})
}

// reindexWorkspace analyzes the memories of a workspace anew. This process analyzes later ones itself. Processes with
// an earlier analyzer must end first: their later documents would keep the label of the newer one.
func (x *Index) reindexWorkspace(ctx context.Context, workspace int64) error {
	rowIDs, err := sqldb.SystemRead(ctx, x.db, "list memories to reindex",
		func(t *sqldb.Tx) (list []int64, err error) {
			err = t.Query(`SELECT row_id FROM memories WHERE workspace = ?1`, []any{workspace}, sqldb.ScanInts(&list))
			return list, err
		})
	if err == nil {
		_, err = x.reindexMemories(ctx, workspace, rowIDs)
	}
	return err
}

// reindexMemories analyzes memories anew, and then stores the analyzer of the index. It skips unreadable and damaged
// rows, and returns the others.
func (x *Index) reindexMemories(ctx context.Context, workspace int64, rowIDs []int64) (done []int64, err error) {
	err = sqldb.InReadableBatches(rowIDs, reindexBatchSize, func(some []int64) error {
		documents, err := x.analyzeTexts(ctx, some)
		if err != nil {
			return err
		}
		indexed, err := sqldb.System(ctx, x.db, "reindex memories", func(t *sqldb.Tx) ([]int64, error) {
			return x.reindexAnalyzed(t, workspace, some, documents)
		})
		if err == nil { // System returns its result also if that was rolled back
			done = append(done, indexed...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	_, err = sqldb.System(ctx, x.db, "store the analyzer of an index", func(t *sqldb.Tx) (int64, error) {
		return t.Exec(`UPDATE keyword_indexes SET analyzer = ?2 WHERE workspace = ?1 AND analyzer <= ?2`, workspace,
			analysis.Version)
	})
	return done, err
}

// An analyzedText is the document of a version of a memory.
type analyzedText struct {
	version  int
	document []byte
}

// analyzeTexts analyzes memories before the transaction that indexes them, because other writers wait for that. Each
// text has a statement of its own: the time limit of one for all would include the analysis.
func (x *Index) analyzeTexts(ctx context.Context, rowIDs []int64) (map[int64]analyzedText, error) {
	return sqldb.SystemRead(ctx, x.db, "analyze memories to reindex",
		func(t *sqldb.Tx) (map[int64]analyzedText, error) {
			out := map[int64]analyzedText{}
			for _, rowID := range rowIDs {
				var a analyzedText
				var title, content string
				err := t.Row(`SELECT e.version, e.title, e.content FROM memories e WHERE e.row_id = ?1`,
					rowID).Scan(&a.version, &title, &content)
				if errors.Is(err, sqldb.ErrNoRows) {
					continue
				}
				if err != nil {
					return nil, err
				}
				a.document = index.AnalyzeEncoded(title, content)
				out[rowID] = a
			}
			return out, nil
		})
}

// reindex replaces the rows of the log of each memory by one with its document. That of a memory that is gone
// deletes the document. It raises the version of the index.
func (x *Index) reindex(t *sqldb.Tx, workspace int64, rowIDs ...int64) error {
	if err := RaiseVersion(t, workspace); err != nil {
		return err
	}
	for some := range slices.Chunk(rowIDs, reindexBatchSize) {
		if _, err := x.reindexAnalyzed(t, workspace, some, nil); err != nil {
			return err
		}
	}
	return nil
}

// reindexAnalyzed is reindex with the documents of the memories whose version is still the analyzed one. It raises the
// version only if the log has rows of the memories: a flush that was prepared before may hold those. The locks of the
// memories keep writers from adding further ones. It skips damaged rows, and returns the others.
func (x *Index) reindexAnalyzed(t *sqldb.Tx, workspace int64, rowIDs []int64,
	documents map[int64]analyzedText) (indexed []int64, err error) {
	var updates []LogUpdate
	homes, err := lockAtlases(t, rowIDs)
	if err != nil {
		return nil, err
	}
	for _, rowID := range rowIDs {
		u, damaged, err := currentUpdate(t, workspace, rowID, documents[rowID], homes)
		if err != nil {
			return nil, err
		}
		if damaged {
			continue
		}
		updates, indexed = append(updates, u), append(indexed, rowID)
	}
	sums, err := sumLogRows(t, workspace, indexed)
	if err == nil && len(sums) > 0 {
		if err = RaiseVersion(t, workspace); err == nil {
			sums, err = sumLogRows(t, workspace, indexed) // a flush may have ended before
		}
		if err == nil {
			_, err = t.Exec(`DELETE FROM index_log WHERE workspace = ?1 AND `+
				fmt.Sprintf(t.Dialect.InList, "memory", 2), workspace, sqldb.EncodeInts(indexed))
		}
	}
	for _, u := range updates {
		if err == nil {
			err = x.appendCurrent(t, workspace, u, sums[u.Memory])
		}
	}
	return indexed, err
}

// appendCurrent appends the row with the document last, because the last row of a memory wins. The rows before it keep
// the sums for the counters of other atlases, such as that of a memory that is gone.
func (x *Index) appendCurrent(t *sqldb.Tx, workspace int64, last LogUpdate, sums map[int64]Counters) error {
	last.Counters = sums[last.Atlas]
	delete(sums, last.Atlas)
	for _, other := range slices.Sorted(maps.Keys(sums)) {
		if err := x.AppendLog(t, workspace, Deletion(last.Memory, other, sums[other])); err != nil {
			return err
		}
	}
	return x.AppendLog(t, workspace, last)
}

// lockAtlases locks the atlases of memories against deletion, and returns their workspaces, 0 for a deleted atlas.
func lockAtlases(t *sqldb.Tx, rowIDs []int64) (homes map[int64]int64, err error) {
	homes = map[int64]int64{}
	err = t.Query(`SELECT a.row_id, COALESCE(a.workspace, 0) FROM atlases a WHERE a.row_id IN (SELECT e.atlas FROM memories e
		WHERE `+fmt.Sprintf(t.Dialect.InList, "e.row_id", 1)+`) ORDER BY a.row_id`+t.LockClause("KEY SHARE", "a"),
		[]any{sqldb.EncodeInts(rowIDs)}, func(r sqldb.Row) error {
			var rowID, workspace int64
			err := r.Scan(&rowID, &workspace)
			homes[rowID] = workspace
			return err
		})
	return homes, err
}

// currentUpdate returns the update of a memory as its row is, or a deletion in atlas 0 if it or its atlas is gone. A
// damaged row, or one in an atlas of another workspace, has none, unless the log must lose its document: an unreadable
// one makes the whole index unreadable.
func currentUpdate(t *sqldb.Tx, workspace, rowID int64, analyzed analyzedText,
	homes map[int64]int64) (u LogUpdate, damaged bool, err error) {
	m, err := LockMemoryRow(t, rowID)
	if errors.Is(err, sqldb.ErrNoRows) || err == nil && m.Workspace != workspace && !m.IsDamaged {
		return Deletion(rowID, 0, Counters{}), false, nil
	}
	if err != nil {
		return u, false, err
	}
	home, found := homes[m.Atlas]
	if !found { // it was moved before it was locked
		if homes, err = lockAtlases(t, []int64{rowID}); err != nil {
			return u, false, err
		}
		home, found = homes[m.Atlas]
	}
	if found && home == 0 && !m.IsDamaged {
		return Deletion(rowID, 0, Counters{}), false, nil
	}
	if m.IsDamaged || found && home != workspace {
		readable, err := isLogReadable(t, workspace, rowID)
		return Deletion(rowID, 0, Counters{}), readable, err
	}
	u = LogUpdate{DocAttributes: m.DocAttributes(), Document: analyzed.document}
	if m.Version != analyzed.version { // versions begin with 1
		u.Document = index.AnalyzeEncoded(m.Title, m.Content)
	}
	return u, false, nil
}

// isLogReadable reports whether the rows of a memory in the log can be decoded.
func isLogReadable(t *sqldb.Tx, workspace, rowID int64) (bool, error) {
	err := t.Query(`SELECT`+logColumns+`FROM index_log WHERE workspace = ?1 AND memory = ?2`, []any{workspace, rowID},
		func(r sqldb.Row) error {
			_, err := scanLogRow(r)
			return err
		})
	if errors.Is(err, index.ErrCorrupt) {
		return false, nil
	}
	return true, err
}

// sumLogRows sums what the rows of memories add to the counters, by memory and atlas.
func sumLogRows(t *sqldb.Tx, workspace int64, rowIDs []int64) (map[int64]map[int64]Counters, error) {
	sums := map[int64]map[int64]Counters{}
	err := t.Query(`SELECT memory, atlas, CAST(SUM(memories) AS BIGINT), CAST(SUM(bytes) AS BIGINT) FROM index_log
		WHERE workspace = ?1 AND `+fmt.Sprintf(t.Dialect.InList, "memory", 2)+` GROUP BY memory, atlas`,
		[]any{workspace, sqldb.EncodeInts(rowIDs)}, func(r sqldb.Row) error {
			var memory, atlas int64
			var sum Counters
			err := r.Scan(&memory, &atlas, &sum.Memories, &sum.Bytes)
			if sums[memory] == nil {
				sums[memory] = map[int64]Counters{}
			}
			sums[memory][atlas] = sum
			return err
		})
	return sums, err
}
