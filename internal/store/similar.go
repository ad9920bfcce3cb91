package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/minhashdb"
)

// FindSimilar returns the active memories of the workspace with nearly the same text, best first, except one.
func (a *Atlas) FindSimilar(content string, e IndexEntry, except loci.ID) ([]loci.Similarity, error) {
	list, err := a.t.similarTexts(a.workspace.rowID, content, e.bands, except)
	for _, m := range list {
		a.t.LinkResponse(m.ID)
	}
	return list, err
}

// similarTexts compares a text with those that share a band with it.
func (t *Tx) similarTexts(workspace int64, content string, bands []int64, except loci.ID) ([]loci.Similarity, error) {
	candidates, err := minhashdb.Candidates(t.conn, workspace, bands)
	if err != nil || len(candidates) == 0 {
		return []loci.Similarity{}, err
	}
	var ids []string
	texts, bytes := []string{content}, len(content)
	err = t.conn.QueryFew(`SELECT e.id, e.content FROM `+
		fmt.Sprintf(t.conn.Dialect.JoinIDs, 1, "memories e", "e.row_id")+
		atlasJoin+` WHERE e.workspace = ?2 AND e.status = 0 AND e.id <> ?3`,
		[]any{sqldb.EncodeInts(candidates), workspace, except}, func(r sqldb.Row) error {
			var id, text string
			if err := r.Scan(&id, &text); err != nil {
				return err
			}
			ids, texts, bytes = append(ids, id), append(texts, text), bytes+len(text)
			return nil
		})
	if err != nil || len(ids) == 0 {
		return []loci.Similarity{}, err
	}
	return Compute(t, bytes, func() []loci.Similarity { return rankSimilar(ids, texts) },
		append(texts, ids...)...)
}

// rankSimilar compares the first text with the others, whose memories have the ids, and returns the similar ones, best
// first.
func rankSimilar(ids, texts []string) []loci.Similarity {
	list := []loci.Similarity{}
	own := minhash.NewShingles(texts[0])
	for i, id := range ids {
		if score := own.Jaccard(minhash.NewShingles(texts[i+1])); score >= minhash.SimilarityThreshold {
			list = append(list, loci.Similarity{ID: loci.ID(id), Score: math.Round(score*1e4) / 1e4})
		}
	}
	slices.SortFunc(list, func(a, b loci.Similarity) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// findBySource returns the handle of the active memory of the atlas from a source, if there is one.
func (a *Atlas) findBySource(s loci.Source) (m *Memory, found bool, err error) {
	m, err = a.t.openMemory(ToChange,
		`WHERE e.atlas = ?2 AND e.source_name = ?3 AND e.source_uri = ?4 AND e.status = 0 ORDER BY e.row_id LIMIT 1`,
		a.rowID, string(s.Name), string(s.URI))
	if loci.Is(err, loci.CodeNotFound) {
		return nil, false, nil
	}
	return m, err == nil, err
}
