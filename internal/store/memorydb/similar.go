package memorydb

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/minhashdb"
)

// FindSimilar returns the active memories of the workspace with nearly the same text, and its neighbors by vector,
// best first, except one. Their texts with the normal form of this one are equal to it: the oldest of these in the
// atlas is returned too.
func FindSimilar(a *scope.Atlas, content string, e IndexEntry, except loci.ID,
	neighbors []loci.Similarity) (list []loci.Similarity, equal loci.ID, err error) {
	near, err := similarTexts(scope.Of(a), a.Workspace().RowID(), content, e.bands, except)
	if err == nil {
		neighbors, err = activeOf(a, neighbors, except)
	}
	list = MergeSimilar(near.list, neighbors)
	for _, id := range near.equal {
		if near.atlases[id] == a.RowID() && (equal == "" || id < equal) {
			equal = id
		}
	}
	return list, equal, err
}

// activeOf returns those of a list that are active memories of the workspace, except one.
func activeOf(a *scope.Atlas, list []loci.Similarity, except loci.ID) (active []loci.Similarity, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	ids := make([]loci.ID, len(list))
	for i, m := range list {
		ids[i] = m.ID
	}
	t := scope.Of(a)
	err = t.Conn.QueryFew(`SELECT e.id FROM memories e`+AtlasJoin+`WHERE e.workspace = ?2 AND e.status = 0
		AND e.id <> ?3 AND e.id IN (SELECT list.value FROM `+fmt.Sprintf(t.Conn.Dialect.StringRows, 1)+`)`,
		[]any{sqldb.EncodeStrings(ids), a.Workspace().RowID(), except}, func(r sqldb.Row) error {
			var id loci.ID
			err := r.Scan(&id)
			active = append(active, list[slices.Index(ids, id)])
			return err
		})
	return active, err
}

// MergeSimilar returns the memories of two lists, best first. Of one in both the first score counts.
func MergeSimilar(list, more []loci.Similarity) []loci.Similarity {
	list = slices.Clone(list) // a computation keeps its own
	for _, m := range more {
		if !slices.ContainsFunc(list, func(x loci.Similarity) bool { return x.ID == m.ID }) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b loci.Similarity) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// nearTexts are the memories with nearly the same text.
type nearTexts struct {
	list    []loci.Similarity
	equal   []loci.ID         // of these, the ones with the same normal form
	atlases map[loci.ID]int64 // of all that were compared
}

// similarTexts compares a text with those that share a band with it.
func similarTexts(t *scope.Scope, workspace int64, content string, bands []int64,
	except loci.ID) (nearTexts, error) {
	none := nearTexts{list: []loci.Similarity{}}
	candidates, err := minhashdb.Candidates(t.Conn, workspace, bands)
	if err != nil || len(candidates) == 0 {
		return none, err
	}
	var ids, titles []string
	texts, atlases := []string{content}, map[loci.ID]int64{}
	err = t.Conn.QueryFew(`SELECT e.id, e.title, e.content, e.atlas FROM `+
		fmt.Sprintf(t.Conn.Dialect.JoinIDs, 1, "memories e", "e.row_id")+
		AtlasJoin+` WHERE e.workspace = ?2 AND e.status = 0 AND e.id <> ?3`,
		[]any{sqldb.EncodeInts(candidates), workspace, except}, func(r sqldb.Row) error {
			var id, title, text string
			var atlas int64
			if err := r.Scan(&id, &title, &text, &atlas); err != nil {
				return err
			}
			ids, titles, texts = append(ids, id), append(titles, title), append(texts, text)
			atlases[loci.ID(id)] = atlas
			return nil
		})
	if err != nil || len(ids) == 0 {
		return none, err
	}
	near, err := scope.Compute(t, analysis.NormalSize(texts...),
		func() nearTexts { return rankSimilar(ids, titles, texts) }, slices.Concat(texts, ids, titles)...)
	near.atlases = atlases
	return near, err
}

// rankSimilar compares the first text with the others, whose memories have the ids and titles, and returns the similar
// ones, best first.
func rankSimilar(ids, titles, texts []string) nearTexts {
	near := nearTexts{list: []loci.Similarity{}}
	own, normal := minhash.NewShingles(texts[0]), normalForm(texts[0])
	for i, id := range ids {
		score := own.Jaccard(minhash.NewShingles(texts[i+1]))
		if score < minhash.SimilarityThreshold {
			continue
		}
		near.list = append(near.list, loci.Similarity{ID: loci.ID(id), Score: math.Round(score*1e4) / 1e4,
			Title: titles[i]})
		if score == 1 && normalForm(texts[i+1]) == normal {
			near.equal = append(near.equal, loci.ID(id))
		}
	}
	slices.SortFunc(near.list, func(a, b loci.Similarity) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return near
}

// normalForm returns a text in one Unicode form, without the white space at the ends of its lines and at its end.
func normalForm(text string) string {
	var b strings.Builder
	for line := range strings.Lines(norm.NFC.String(text)) {
		b.WriteString(strings.TrimRightFunc(line, unicode.IsSpace) + "\n")
	}
	return strings.TrimRightFunc(b.String(), unicode.IsSpace)
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
