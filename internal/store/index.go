package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/loci-memory/loci/internal/search"
)

// indexCache keeps what searches need of the keyword indexes of workspaces: an
// immutable view of each, and the pages of their segments. Nothing in it is
// believed: a transaction reads the state of an index first, and a view that
// is of another state is brought up to date.
type indexCache struct {
	views    kept[int64, *indexed]
	segments kept[int64, map[int64]opened] // by workspace and rid
	codes    kept[int64, *coded]
	rankings kept[rankingKey, *ranking]
	pages    *search.Cache
	vectors  *search.Recent // by rid: no row of vectors changes but for its seq, and none has a rid again
}

// indexed is a view of one workspace's index and the state that it shows.
type indexed struct {
	state indexState
	view  *search.View
}

// indexState tells two states of an index apart: the version rises with every
// fold, and between folds rows are only added to the log of changes.
type indexState struct {
	workspace, version, grown int64
}

// coded are the codes of one workspace's vectors and the state that they show.
type coded struct {
	state vectorState
	codes *search.Codes
}

// Bounds of the cache: together about 200 MB of views, 50 MB of the term sets of small
// segments and 130 MB of codes where they are reached.
const (
	maxViews = 10_000
	maxDocs  = 4_000_000
	maxCodes = 2_000_000
)

func newIndexCache(pages int) *indexCache {
	if pages == 0 {
		pages = search.DefaultCache
	}
	return &indexCache{
		views:    kept[int64, *indexed]{many: maxViews, most: maxDocs, size: func(x *indexed) int { return x.view.Docs() }},
		segments: kept[int64, map[int64]opened]{many: maxViews, most: maxDocs, size: documents},
		codes:    kept[int64, *coded]{many: maxViews, most: maxCodes, size: func(x *coded) int { return x.codes.Len() }},
		rankings: kept[rankingKey, *ranking]{many: maxRankings, most: maxRankings, size: func(*ranking) int { return 1 }},
		pages:    search.NewCache(pages),
		vectors:  search.NewRecent(search.DefaultRecent),
	}
}

// kept holds things by their keys, mostly workspaces, and forgets some where there
// are too many or their sizes too large together. What is not there is T's zero value.
type kept[K comparable, T any] struct {
	mu   sync.Mutex
	of   map[K]T
	held int
	many int
	most int
	size func(T) int
}

func (k *kept[K, T]) get(key K) T {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.of[key]
}

func (k *kept[K, T]) put(key K, x T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(key)
	if k.of == nil {
		k.of = map[K]T{}
	}
	k.of[key] = x
	k.held += k.size(x)
	for other := range k.of { // a map's order is a fair choice of what goes
		if len(k.of) <= k.many && k.held <= k.most || len(k.of) == 1 {
			return
		}
		if other != key {
			k.forget(other)
		}
	}
}

func (k *kept[K, T]) drop(key K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(key)
}

func (k *kept[K, T]) forget(key K) {
	if x, ok := k.of[key]; ok {
		k.held -= k.size(x)
		delete(k.of, key)
	}
}

func (c *indexCache) drop(workspace int64) {
	c.views.drop(workspace)
	c.codes.drop(workspace)
}

// errStale tells that a fold went on while an index was read.
var errStale = errors.New("store: the index has changed meanwhile")

// stateColumns end with an aggregate of the log of changes c.
func stateColumns(ofLog string) string {
	return ` x.workspace, x.version, (SELECT ` + ofLog + ` FROM changes c WHERE c.workspace = x.workspace) `
}

func (s *indexState) scan() []any { return []any{&s.workspace, &s.version, &s.grown} }

// grownTo is what dialect.grown says of a log that holds these changes.
func (d *dialect) grownTo(seqs []int64) int64 {
	switch {
	case d.locks:
		return int64(len(seqs))
	case len(seqs) == 0:
		return 0
	}
	return slices.Max(seqs)
}

// indexStates reads the states of the indexes of a reach.
func (t *Tx) indexStates(r reach) (states []indexState, err error) {
	d := t.s.db.dialect()
	q := `SELECT` + stateColumns(d.grown) + `FROM indexes x WHERE ` + fmt.Sprintf(d.in, "x.workspace", 1) + ` ORDER BY x.workspace`
	err = t.c.few(q, []any{integers(r.workspaces)}, func(row row) error {
		var s indexState
		err := row.Scan(s.scan()...)
		states = append(states, s)
		return err
	})
	return states, err
}

// view returns the view of an index in a state.
func (t *Tx) view(state indexState) (*indexed, error) {
	have := t.s.indexes.views.get(state.workspace)
	if have != nil && have.state == state {
		return have, nil
	}
	x := &indexed{state: state}
	if have != nil && have.state.version == state.version {
		x.view = have.view
	} else {
		segments, err := t.segments(state.workspace)
		if err != nil {
			return nil, err
		}
		x.view = search.NewView(segments)
	}
	if err := t.catchUp(x); err != nil {
		return nil, err
	}
	t.s.indexes.views.put(state.workspace, x)
	return x, nil
}

// catchUp applies the changes that a view does not have yet. Where others
// write while it reads, what it has read must still be of one version.
func (t *Tx) catchUp(x *indexed) error {
	w := x.state.workspace
	held := map[int64]bool{}
	for _, seq := range x.view.Seqs() {
		held[seq] = true
	}
	var missing []int64
	err := t.c.each(`SELECT seq FROM changes WHERE workspace = ?1 ORDER BY seq`, []any{w}, func(r row) error {
		var seq int64
		err := r.Scan(&seq)
		if !held[seq] {
			missing = append(missing, seq)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		changes, err := t.changes(w, missing)
		if err != nil {
			return err
		}
		x.view = x.view.With(changes)
	}
	var now indexState
	if err := t.c.one(`SELECT`+stateColumns(t.s.db.dialect().grown)+`FROM indexes x WHERE x.workspace = ?1`, []any{w}, now.scan()); err != nil {
		return err
	}
	if now.version != x.state.version {
		return errStale
	}
	x.state.grown = t.s.db.dialect().grownTo(x.view.Seqs())
	return nil
}

const changeColumns = ` seq, memory, atlas, kind, status, tags, made_at, gone, verified, valid_until, document, kin, position `

// changes reads rows of the change log.
func (t *Tx) changes(workspace int64, seqs []int64) (list []search.Change, err error) {
	q := `SELECT` + changeColumns + `FROM changes WHERE workspace = ?1 AND ` + fmt.Sprintf(t.s.db.dialect().in, "seq", 2) + ` ORDER BY seq`
	list = make([]search.Change, 0, len(seqs))
	err = t.c.each(q, []any{workspace, integers(seqs)}, func(r row) error {
		c, err := scanChange(r)
		list = append(list, c)
		return err
	})
	return list, err
}

func scanChange(r row, more ...any) (c search.Change, err error) {
	var tags string
	var document []byte
	if err = r.Scan(append([]any{&c.Seq, &c.Memory, &c.Atlas, &c.Kind, &c.Status, &tags, &c.Created, &c.Gone, &c.Verified, &c.ValidUntil, &document, &c.Group, &c.Position}, more...)...); err != nil {
		return c, err
	}
	if c.Tags, err = readTexts(tags); err != nil || c.Gone {
		return c, err
	}
	c.Document, err = search.DecodeDocument(document)
	return c, err
}

// page fetches a page of a segment.
func (t *Tx) page(segment int64, number int) (bytes []byte, err error) {
	err = t.c.one(`SELECT bytes FROM pages WHERE segment = ?1 AND number = ?2`, []any{segment, number}, []any{&bytes})
	if errors.Is(err, errNoRow) {
		return nil, errStale
	}
	return bytes, err
}

// workspaceOf returns the rid of a workspace, for system jobs.
func (t *SystemTx) workspaceOf(id string) (rid int64, err error) {
	err = t.t.c.one(`SELECT rid FROM workspaces WHERE id = ?1`, []any{id}, []any{&rid})
	return rid, notFound(err)
}
