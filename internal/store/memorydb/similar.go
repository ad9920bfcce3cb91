package memorydb

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/minhashdb"
)

// FindSimilar returns the active memories of the workspace with nearly the same text, best first, except one.
func FindSimilar(a *scope.Atlas, content string, e IndexEntry, except loci.ID) ([]loci.Similarity, error) {
	list, err := similarTexts(scope.Of(a), a.Workspace().RowID(), content, e.bands, except)
	for _, m := range list {
		scope.Of(a).LinkResponse(m.ID)
	}
	return list, err
}

// similarTexts compares a text with those that share a band with it.
func similarTexts(t *scope.Scope, workspace int64, content string, bands []int64,
	except loci.ID) ([]loci.Similarity, error) {
	candidates, err := minhashdb.Candidates(t.Conn, workspace, bands)
	if err != nil || len(candidates) == 0 {
		return []loci.Similarity{}, err
	}
	var ids, titles []string
	texts := []string{content}
	err = t.Conn.QueryFew(`SELECT e.id, e.title, e.content FROM `+
		fmt.Sprintf(t.Conn.Dialect.JoinIDs, 1, "memories e", "e.row_id")+
		AtlasJoin+` WHERE e.workspace = ?2 AND e.status = 0 AND e.id <> ?3`,
		[]any{sqldb.EncodeInts(candidates), workspace, except}, func(r sqldb.Row) error {
			var id, title, text string
			if err := r.Scan(&id, &title, &text); err != nil {
				return err
			}
			ids, titles, texts = append(ids, id), append(titles, title), append(texts, text)
			return nil
		})
	if err != nil || len(ids) == 0 {
		return []loci.Similarity{}, err
	}
	return scope.Compute(t, analysis.NormalSize(texts...),
		func() []loci.Similarity { return rankSimilar(ids, titles, texts) }, slices.Concat(texts, ids, titles)...)
}

// rankSimilar compares the first text with the others, whose memories have the ids and titles, and returns the similar
// ones, best first.
func rankSimilar(ids, titles, texts []string) []loci.Similarity {
	list := []loci.Similarity{}
	own := minhash.NewShingles(texts[0])
	for i, id := range ids {
		if score := own.Jaccard(minhash.NewShingles(texts[i+1])); score >= minhash.SimilarityThreshold {
			list = append(list, loci.Similarity{ID: loci.ID(id), Score: math.Round(score*1e4) / 1e4,
				Title: titles[i]})
		}
	}
	slices.SortFunc(list, func(a, b loci.Similarity) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// findBySource returns the handle of the active memory of the atlas from a source, if there is one.
func findBySource(a *scope.Atlas, s loci.Source) (m *Memory, found bool, err error) {
	m, err = openMemory(scope.Of(a), scope.ToChange,
		`WHERE e.atlas = ?2 AND e.source_name = ?3 AND e.source_uri = ?4 AND e.status = 0 ORDER BY e.row_id LIMIT 1`,
		a.RowID(), string(s.Name), string(s.URI))
	if loci.Is(err, loci.CodeNotFound) {
		return nil, false, nil
	}
	return m, err == nil, err
}
