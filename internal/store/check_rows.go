package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

const inspectedColumns = ` e.rid, e.id, e.workspace, e.atlas, e.title, e.content, e.hash, e.kind, e.status, e.tags, e.version, e.created_at, e.verified_at, e.valid_until,
	e.superseded_by, e.supersedes, e.source_name, e.source_uri, e.source_group, e.source_position,
	e.created_by, e.updated_at, e.archived_at, e.verified_by, e.evidence, e.confidence, e.checksum `

// inspectedRow is the row of a memory as it stands there, whatever that means.
type inspectedRow struct {
	rid, workspace, atlas, hash, created, verifiedAt, validUntil int64
	updated, archivedAt                                          int64
	kind, status, version                                        int
	id, title, content, tags, supersededBy, supersedes           string
	createdBy, verifiedBy, evidence                              string
	source                                                       loci.Source
	confidence                                                   *loci.Confidence
	checksum                                                     *int64 // nil where a program of an earlier schema wrote the row
}

func (m *inspectedRow) scan(r row) error {
	return r.Scan(&m.rid, &m.id, &m.workspace, &m.atlas, &m.title, &m.content, &m.hash, &m.kind, &m.status, &m.tags, &m.version, &m.created, &m.verifiedAt, &m.validUntil,
		&m.supersededBy, &m.supersedes, &m.source.Name, &m.source.URI, &m.source.Group, &m.source.Position,
		&m.createdBy, &m.updated, &m.archivedAt, &m.verifiedBy, &m.evidence, &m.confidence, &m.checksum)
}

// damage returns what is wrong with the row by itself, or nothing. What is derived
// from such a row is left as it is: it may be the only witness of what the row was.
func (m *inspectedRow) damage() string {
	tags, err := readTexts(m.tags)
	if err != nil || m.kind < 0 || m.kind >= len(loci.Kinds) || m.status < 0 || m.status >= len(loci.Statuses) {
		return "its type, status or tags are none that there are"
	}
	if m.checksum == nil {
		if m.hash != contentHash(m.content) {
			return "the hash of its text is another one: the text is damaged"
		}
		return ""
	}
	if *m.checksum != memoryChecksum(loci.Memory{ID: m.id, Title: m.title, Content: m.content, Type: loci.KindAt(m.kind), Tags: tags,
		Status: loci.StatusAt(m.status), Version: m.version, CreatedBy: m.createdBy, CreatedAt: loci.Time(m.created), UpdatedAt: loci.Time(m.updated),
		ArchivedAt: loci.Time(m.archivedAt), VerifiedAt: loci.Time(m.verifiedAt), VerifiedBy: m.verifiedBy, ValidUntil: loci.Time(m.validUntil),
		Evidence: m.evidence, Confidence: m.confidence, Source: &m.source}) {
		return "its checksum is another one: its text, title, tags, source, type, status or review is damaged"
	}
	return ""
}

// change is what the index should know of the memory.
func (m *inspectedRow) change() search.Change {
	tags, _ := readTexts(m.tags) // what is none has no tags; the row is told of by itself
	group, position := groupOf(&m.source)
	return search.Change{Document: search.Analyze(m.title, m.content), Attributes: search.Attributes{Memory: m.rid, Atlas: m.atlas, Created: m.created,
		ValidUntil: m.validUntil, Kind: uint8(m.kind), Status: uint8(m.status), Verified: m.verifiedAt != 0, Tags: tags,
		Group: group, Position: position}}
}

// sketch is what the memory should be found by as a near duplicate, rising.
func (m *inspectedRow) sketch() []int64 {
	if m.status != 0 {
		return nil
	}
	bands := search.Sketch(m.content)
	slices.Sort(bands)
	return slices.Compact(bands)
}

// read calls f with the rows of memories, which may be few. Nothing is asked of
// the database until all are read. Those that it cannot read are left out. They are
// read by their numbers (the + keeps an index away that may be damaged).
func (i *inspector) read(rids []int64, f func(inspectedRow) error) error {
	var list []inspectedRow
	err := i.batches(rids, func(part []int64) error {
		before := len(list)
		err := i.t.c.each(`SELECT`+inspectedColumns+`FROM memories e WHERE +e.workspace = ?2 AND `+fmt.Sprintf(i.t.s.db.dialect().in, "e.rid", 1)+` ORDER BY e.rid`, []any{integers(part), i.workspace}, func(r row) error {
			list = append(list, inspectedRow{})
			return list[len(list)-1].scan(r)
		})
		if err != nil {
			list = list[:before]
		}
		return err
	})
	i.saw(len(list))
	if err == nil && len(list) < len(rids) {
		i.missing(rids, list)
	}
	for _, m := range list {
		if err == nil {
			err = f(m)
		}
	}
	return err
}

// missing notes the memories that an index lists and the table does not have.
func (i *inspector) missing(rids []int64, list []inspectedRow) {
	for _, rid := range rids {
		_, known := i.unread[rid]
		if !known && i.exists(rid) && !slices.ContainsFunc(list, func(m inspectedRow) bool { return m.rid == rid }) {
			i.unread[rid] = "an index has it, and the table does not"
		}
	}
}

// small reports whether a look at all of the workspace is cheap enough for what
// was asked for.
func (i *inspector) small() bool { return i.some == 0 || len(i.rids) <= inspectList }

func (i *inspector) counters() error {
	if !i.small() {
		return nil
	}
	type atlas struct {
		rid  int64
		id   string
		have tally
	}
	var list []atlas
	err := i.t.c.each(`SELECT a.rid, a.id, a.memories + (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM changes c WHERE c.workspace = ?1 AND c.atlas = a.rid),
		a.bytes + (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) FROM changes c WHERE c.workspace = ?1 AND c.atlas = a.rid)
		FROM atlases a WHERE a.workspace = ?1 ORDER BY a.rid`, []any{i.workspace}, func(r row) error {
		var a atlas
		err := r.Scan(&a.rid, &a.id, &a.have.memories, &a.have.bytes)
		list = append(list, a)
		return err
	})
	for _, a := range list {
		var is tally
		if err == nil {
			err = i.t.c.one(`SELECT count(*), CAST(COALESCE(SUM(octet_length(e.content)), 0) AS BIGINT) FROM memories e WHERE e.atlas = ?1`, []any{a.rid}, []any{&is.memories, &is.bytes})
		}
		if err == nil && is != a.have {
			i.flaw(FlawCounters, a.id, func(t *SystemTx) (string, error) { return t.recount(i.workspace, a.rid) },
				"the atlas counts %d memories of %d bytes and has %d of %d", a.have.memories, a.have.bytes, is.memories, is.bytes)
		}
	}
	return err
}

// rows looks at each row by itself, and at its versions and links.
func (i *inspector) rows() error {
	return i.batches(i.chosen(), func(part []int64) error { return i.read(part, i.row) })
}

// rehash makes the hash of a memory's text anew, where the text is not damaged.
func (i *inspector) rehash(rid int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) {
		m, err := t.row(rid)
		if errors.Is(err, errNoRow) || err == nil && m.damage() != "" {
			return mendedMeanwhile, nil
		}
		if err == nil {
			_, err = t.t.exec(`UPDATE memories SET hash = ?2 WHERE rid = ?1`, rid, contentHash(m.content))
		}
		return "made anew", err
	}
}

func (i *inspector) row(m inspectedRow) error {
	if what := m.damage(); what != "" {
		i.flaw(FlawRows, m.id, nil, "%s", what)
	} else if m.hash != contentHash(m.content) {
		i.flaw(FlawRows, m.id, i.rehash(m.rid), "the hash of its text is another one, and the text has its checksum")
	}
	var home int64
	if err := i.t.c.one(`SELECT COALESCE((SELECT a.workspace FROM atlases a WHERE a.rid = ?1), 0)`, []any{m.atlas}, []any{&home}); err != nil {
		return err
	}
	if home != i.workspace {
		i.flaw(FlawRows, m.id, nil, "its atlas is not one of its workspace")
	}
	if what, err := i.versions(m); err != nil || what != "" {
		if err != nil {
			return err
		}
		i.flaw(FlawVersions, m.id, nil, "%s", what)
	}
	return i.links(m)
}
