package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/vector"
)

// indexCache keeps what searches need of the keyword indexes of workspaces: an
// immutable view of each, and the pages of their segments. Nothing in it is
// believed: a transaction reads the state of an index first, and a view that
// is of another state is brought up to date.
type indexCache struct {
	snapshots *cache.Cache[int64, *cachedSnapshot]
	segments  *cache.Cache[int64, map[int64]cachedSegment] // by workspace and rid
	codes     *cache.Cache[int64, *cachedCodes]
	rankings  *cache.Cache[rankingKey, *cachedRanking]
	pages     *index.Cache
	vectors   *vector.Cache // by rid: no row of vectors changes but for its seq, and none has a rid again
}

// cachedSnapshot is a view of one workspace's index and the state that it shows.
type cachedSnapshot struct {
	state    indexState
	snapshot *index.Snapshot
}

// indexState tells two states of an index apart: the version rises with every
// fold, and between folds rows are only added to the log of changes.
type indexState struct {
	workspace, version, logVersion int64
}

// cachedCodes are the codes of one workspace's vectors and the state that they show.
type cachedCodes struct {
	state vectorState
	codes *vector.BinaryCodes
}

// Bounds of the cache: together about 200 MB of views, 50 MB of the term sets of small
// segments and 130 MB of codes where they are reached.
const (
	maxSnapshots   = 10_000
	maxCachedDocs  = 4_000_000
	maxCachedCodes = 2_000_000
)

func newIndexCache(pages int) *indexCache {
	if pages == 0 {
		pages = index.DefaultCacheBytes
	}
	return &indexCache{
		snapshots: cache.New[int64](maxSnapshots, maxCachedDocs, func(x *cachedSnapshot) int {
			return x.snapshot.Docs()
		}),
		segments: cache.New[int64](maxSnapshots, maxCachedDocs, countDocs),
		codes:    cache.New[int64](maxSnapshots, maxCachedCodes, func(x *cachedCodes) int { return x.codes.Len() }),
		rankings: cache.New[rankingKey](maxRankings, maxRankings, func(*cachedRanking) int { return 1 }),
		pages:    index.NewCache(pages),
		vectors:  vector.NewCache(vector.DefaultCacheBytes),
	}
}

func (c *indexCache) invalidate(workspace int64) {
	c.snapshots.Remove(workspace)
	c.codes.Remove(workspace)
}

// errStale tells that a fold went on while an index was read.
var errStale = errors.New("store: the index has changed meanwhile")

// stateColumns end with an aggregate of the log of changes c.
func stateColumns(ofLog string) string {
	return ` x.workspace, x.version, (SELECT ` + ofLog + ` FROM index_log c WHERE c.workspace = x.workspace) `
}

func (s *indexState) scan() []any { return []any{&s.workspace, &s.version, &s.logVersion} }

// logVersionOf is what dialect.grown says of a log that holds these changes.
func logVersionOf(d *sqldb.Dialect, seqs []int64) int64 {
	switch {
	case d.RowLocks:
		return int64(len(seqs))
	case len(seqs) == 0:
		return 0
	}
	return slices.Max(seqs)
}

// indexStates reads the states of the indexes of a reach.
func (t *Tx) indexStates(r scopeFilter) (states []indexState, err error) {
	d := t.conn.Dialect
	q := `SELECT` + stateColumns(d.LogVersion) + `FROM keyword_indexes x WHERE ` +
		fmt.Sprintf(d.InList, "x.workspace", 1) + ` ORDER BY x.workspace`
	err = t.conn.QueryFew(q, []any{sqldb.EncodeInts(r.workspaces)}, func(row sqldb.Row) error {
		var s indexState
		err := row.Scan(s.scan()...)
		states = append(states, s)
		return err
	})
	return states, err
}

// indexSnapshot returns the view of an index in a state.
func (t *Tx) indexSnapshot(state indexState) (*cachedSnapshot, error) {
	have := t.store.indexes.snapshots.Get(state.workspace)
	if have != nil && have.state == state {
		return have, nil
	}
	x := &cachedSnapshot{state: state}
	if have != nil && have.state.version == state.version {
		x.snapshot = have.snapshot
	} else {
		segments, err := t.segments(state.workspace)
		if err != nil {
			return nil, err
		}
		x.snapshot = index.NewSnapshot(segments)
	}
	if err := t.catchUp(x); err != nil {
		return nil, err
	}
	t.store.indexes.snapshots.Put(state.workspace, x)
	return x, nil
}

// catchUp applies the changes that a view does not have yet. Where others
// write while it reads, what it has read must still be of one version.
func (t *Tx) catchUp(x *cachedSnapshot) error {
	w := x.state.workspace
	held := map[int64]bool{}
	for _, seq := range x.snapshot.AppliedSeqs() {
		held[seq] = true
	}
	var missing []int64
	err := t.conn.Query(`SELECT seq FROM index_log WHERE workspace = ?1 ORDER BY seq`, []any{w},
		func(r sqldb.Row) error {
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
		changes, err := t.readLog(w, missing)
		if err != nil {
			return err
		}
		x.snapshot = x.snapshot.Apply(changes)
	}
	var now indexState
	if err := t.conn.QueryRow(`SELECT`+stateColumns(t.conn.Dialect.LogVersion)+
		`FROM keyword_indexes x WHERE x.workspace = ?1`, []any{w}, now.scan()); err != nil {
		return err
	}
	if now.version != x.state.version {
		return errStale
	}
	x.state.logVersion = logVersionOf(t.conn.Dialect, x.snapshot.AppliedSeqs())
	return nil
}

const logColumns = ` seq, memory, atlas, type, status, tags, created_at, deleted, verified,
	valid_until, document, group_id, position `

// readLog reads rows of the change log.
func (t *Tx) readLog(workspace int64, seqs []int64) (list []index.DocUpdate, err error) {
	q := `SELECT` + logColumns + `FROM index_log WHERE workspace = ?1 AND ` +
		fmt.Sprintf(t.conn.Dialect.InList, "seq", 2) + ` ORDER BY seq`
	list = make([]index.DocUpdate, 0, len(seqs))
	err = t.conn.Query(q, []any{workspace, sqldb.EncodeInts(seqs)}, func(r sqldb.Row) error {
		c, err := scanLogRow(r)
		list = append(list, c)
		return err
	})
	return list, err
}

func scanLogRow(r sqldb.Row, more ...any) (c index.DocUpdate, err error) {
	var tags string
	var document []byte
	if err = r.Scan(append([]any{&c.Seq, &c.Memory, &c.Atlas, &c.Kind, &c.Status, &tags, &c.Created, &c.Deleted,
		&c.Verified, &c.ValidUntil, &document, &c.Group, &c.Position}, more...)...); err != nil {
		return c, err
	}
	if c.Tags, err = sqldb.DecodeStrings(tags); err != nil || c.Deleted {
		return c, err
	}
	c.Document, err = index.DecodeDocument(document)
	return c, err
}

// segmentPage fetches a page of a segment.
func (t *Tx) segmentPage(segment int64, number int) (bytes []byte, err error) {
	err = t.conn.QueryRow(`SELECT data FROM segment_pages WHERE segment = ?1 AND page = ?2`, []any{segment, number},
		[]any{&bytes})
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil, errStale
	}
	return bytes, err
}

// workspaceRowID returns the rid of a workspace, for system jobs.
func (t *SystemTx) workspaceRowID(id string) (rowID int64, err error) {
	err = t.t.conn.QueryRow(`SELECT row_id FROM workspaces WHERE id = ?1`, []any{id}, []any{&rowID})
	return rowID, sqldb.MapNoRows(err)
}
