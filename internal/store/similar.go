package store

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// Bounds of what one looks at: the newest memories that share a band, and of all
// those the ones that share most bands, whose texts are compared.
const (
	maxInBand = 16
	maxAlike  = 5
)

// Every sketch has search.Bands bands, so that the texts of these are made once.
var addSketch, dropSketch, bandsQuery = func() (add, drop, find string) {
	rows, list, bands := make([]string, search.Bands), make([]string, search.Bands), make([]string, search.Bands)
	for i := range search.Bands {
		rows[i], list[i] = fmt.Sprintf("(?1, ?%d, ?2)", i+3), fmt.Sprintf("?%d", i+3)
		bands[i] = fmt.Sprintf(`SELECT * FROM (SELECT s.memory FROM sketches s WHERE s.workspace = ?1 AND s.band = ?%d ORDER BY s.memory DESC LIMIT %d) AS band`, i+2, maxInBand)
	}
	return `INSERT INTO sketches (workspace, band, memory) VALUES ` + strings.Join(rows, ", ") + ` ON CONFLICT DO NOTHING`,
		`DELETE FROM sketches WHERE workspace = ?1 AND memory = ?2 AND band IN (` + strings.Join(list, ", ") + `)`, strings.Join(bands, " UNION ALL ")
}()

func (w *Workspace) addSketch(memory int64, sketch []int64) error {
	if len(sketch) == 0 {
		return nil
	}
	_, err := w.t.exec(addSketch, append([]any{w.rid, memory}, anys(sketch)...)...)
	return err
}

// dropSketch takes bands away, as many as a sketch has at most.
func (w *Workspace) dropSketch(memory int64, bands []int64) error {
	if len(bands) == 0 {
		return nil
	}
	for len(bands) < search.Bands {
		bands = append(bands, bands[0])
	}
	_, err := w.t.exec(dropSketch, append([]any{w.rid, memory}, anys(bands)...)...)
	return err
}

// sketch replaces what the memory is found by as a near duplicate, but for the
// bands that its next text has too. Only active ones are found, so that those put
// away, however many, keep nobody from sight.
func (m *Memory) sketch(next loci.Memory) error {
	var gone, now []int64
	if m.was.Status == loci.Active {
		gone = search.Sketch(m.was.Content)
	}
	if next.Status == loci.Active {
		now = search.Sketch(next.Content)
	}
	w := &m.atlas.workspace
	if err := w.dropSketch(m.rid, slices.DeleteFunc(gone, func(band int64) bool { return slices.Contains(now, band) })); err != nil {
		return err
	}
	return w.addSketch(m.rid, now)
}

// Alike returns the active memories of the atlas's workspace whose texts are
// nearly that one, best first, but for the memory except.
func (a *Atlas) Alike(content string, e Entry, except string) ([]loci.Alike, error) {
	return a.t.alike(a.workspace.rid, content, e.sketch, except)
}

// AlikeTo returns the active memories that resemble one within the actor's reach,
// best first: those with nearly its text, and those that mean nearly the same.
func (t *Tx) AlikeTo(id string) ([]loci.Alike, error) {
	var title, content string
	var rid, workspace int64
	err := t.one(`SELECT e.rid, e.title, e.content, e.workspace FROM`+t.memories()+`WHERE e.id = ?2`, []any{id}, &rid, &title, &content, &workspace)
	if err != nil {
		return nil, notFound(err)
	}
	list, err := t.alike(workspace, content, search.Sketch(content), id)
	if err != nil {
		return nil, err
	}
	meant, err := t.meantLike(workspace, rid, title+"\n"+strings.ToValidUTF8(content[:min(len(content), readHead)], ""))
	if err != nil {
		return nil, err
	}
	for _, m := range meant {
		if !slices.ContainsFunc(list, func(a loci.Alike) bool { return a.ID == m.ID }) {
			list = append(list, m)
		}
	}
	sortAlike(list)
	return list, nil
}

func sortAlike(list []loci.Alike) {
	slices.SortFunc(list, func(a, b loci.Alike) int { return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.ID, b.ID)) })
}

// alike compares a text with those that share a band of its sketch.
func (t *Tx) alike(workspace int64, content string, sketch []int64, except string) ([]loci.Alike, error) {
	list := []loci.Alike{}
	if len(sketch) == 0 {
		return list, nil
	}
	d := t.s.db.dialect()
	candidates, err := t.candidates(workspace, sketch)
	if err != nil || len(candidates) == 0 {
		return list, err
	}
	own := search.NewShingles(content)
	err = t.c.few(`SELECT e.id, e.content FROM `+fmt.Sprintf(d.anyOf, 1, "memories e", "e.rid")+` WHERE e.workspace = ?2 AND e.status = 0 AND e.id <> ?3`,
		[]any{integers(candidates), workspace, except}, func(r row) error {
			var id, text string
			if err := r.Scan(&id, &text); err != nil {
				return err
			}
			if score := own.Resemblance(search.NewShingles(text)); score >= search.Near {
				list = append(list, loci.Alike{ID: id, Score: math.Round(score*1e4) / 1e4})
			}
			return nil
		})
	sortAlike(list)
	return list, err
}

// candidates finds the memories that share most bands with a sketch, of those
// the newest. A text that very many share is a long band: of each only the end
// is read.
func (t *Tx) candidates(workspace int64, sketch []int64) ([]int64, error) {
	var list []int64
	if err := t.c.few(bandsQuery, append([]any{workspace}, anys(sketch)...), into(&list)); err != nil || len(list) < 2 {
		return list, err
	}
	shared := map[int64]int{}
	for _, memory := range list {
		shared[memory]++
	}
	list = slices.SortedFunc(maps.Keys(shared), func(a, b int64) int { return cmp.Or(shared[b]-shared[a], cmp.Compare(b, a)) })
	return list[:min(len(list), maxAlike+1)], nil
}

func anys(list []int64) []any {
	args := make([]any, len(list))
	for i, n := range list {
		args[i] = n
	}
	return args
}

// Sourced returns the handle of the memory of the atlas that comes from a
// source, if there is one that is active.
func (a *Atlas) Sourced(s loci.Source) (m *Memory, found bool, err error) {
	m, err = a.t.memory(`WHERE e.atlas = ?2 AND e.source_name = ?3 AND e.source_uri = ?4 AND e.status = 0 ORDER BY e.rid LIMIT 1`, a.rid, string(s.Name), string(s.URI))
	if loci.Is(err, loci.NotFound) {
		return nil, false, nil
	}
	return m, err == nil, err
}
