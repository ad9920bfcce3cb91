package store

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Limits of a search for similar memories. The newest memories of each band are candidates. The texts of those with the
// most common bands are compared.
const (
	maxPerBand  = 16
	maxCompared = 5
)

// Every text with a word has minhash.BandCount bands, so the statements are built once.
var insertBandsSQL, selectBandsSQL = func() (add, find string) {
	const n = minhash.BandCount
	rows, bands := make([]string, n), make([]string, n)
	for i := range n {
		rows[i] = fmt.Sprintf("(?1, ?%d, ?2)", i+3)
		bands[i] = fmt.Sprintf(
			`SELECT * FROM (SELECT s.memory FROM minhash_bands s WHERE s.workspace = ?1 AND s.band = ?%d
				ORDER BY s.memory DESC LIMIT %d) AS band`, i+2, maxPerBand)
	}
	return `INSERT INTO minhash_bands (workspace, band, memory) VALUES ` + strings.Join(rows, ", ") +
		` ON CONFLICT DO NOTHING`, strings.Join(bands, " UNION ALL ")
}()

// InsertBands adds the LSH bands of a memory.
func InsertBands(t *sqldb.Tx, workspace, memory int64, bands []int64) error {
	if len(bands) == 0 {
		return nil
	}
	_, err := t.Exec(insertBandsSQL, append([]any{workspace, memory}, toAny(bands)...)...)
	return err
}

func (w *Workspace) deleteBands(memory int64, bands []int64) error {
	if len(bands) == 0 {
		return nil
	}
	_, err := w.t.exec(`DELETE FROM minhash_bands WHERE workspace = ?1 AND memory = ?2 AND `+
		fmt.Sprintf(w.t.conn.Dialect.InList, "band", 3), w.rowID, memory, sqldb.EncodeInts(bands))
	return err
}

// updateBands replaces the bands of a memory by those of its next text. Only active memories have bands: others would
// displace them among the candidates.
func (m *Memory) updateBands(next loci.Memory, u indexUpdate) error {
	var gone, now []int64
	if m.current.Status == loci.MemoryActive {
		gone = u.formerBands
	}
	if next.Status == loci.MemoryActive {
		now = u.bands
	}
	w := &m.atlas.workspace
	if err := w.deleteBands(m.rowID, slices.DeleteFunc(slices.Clone(gone), func(band int64) bool {
		return slices.Contains(now, band)
	})); err != nil {
		return err
	}
	return InsertBands(w.t.conn, w.rowID, m.rowID, now)
}

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
	if len(bands) == 0 {
		return []loci.Similarity{}, nil
	}
	candidates, err := t.bandCandidates(workspace, bands)
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
	return Compute(t, bytes/bandCostDivisor, func() []loci.Similarity { return rankSimilar(ids, texts) },
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

// bandCandidates returns the row ids of the memories that share the most of the bands, newest first. It reads only the
// newest memories of each band.
func (t *Tx) bandCandidates(workspace int64, bands []int64) ([]int64, error) {
	var list []int64
	if err := t.conn.QueryFew(selectBandsSQL, append([]any{workspace}, toAny(bands)...),
		sqldb.ScanInts(&list)); err != nil || len(list) < 2 {
		return list, err
	}
	shared := map[int64]int{}
	for _, memory := range list {
		shared[memory]++
	}
	list = slices.SortedFunc(maps.Keys(shared), func(a, b int64) int {
		return cmp.Or(shared[b]-shared[a], cmp.Compare(b, a))
	})
	return list[:min(len(list), maxCompared+1)], nil
}

func toAny(list []int64) []any {
	args := make([]any, len(list))
	for i, n := range list {
		args[i] = n
	}
	return args
}

// FindBySource returns the handle of the active memory of the atlas from a source, if there is one.
func (a *Atlas) FindBySource(s loci.Source) (m *Memory, found bool, err error) {
	m, err = a.t.openMemory(
		`WHERE e.atlas = ?2 AND e.source_name = ?3 AND e.source_uri = ?4 AND e.status = 0 ORDER BY e.row_id LIMIT 1`,
		a.rowID, string(s.Name), string(s.URI))
	if loci.Is(err, loci.CodeNotFound) {
		return nil, false, nil
	}
	return m, err == nil, err
}
