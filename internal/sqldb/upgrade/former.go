// Package upgrade checks rows of former schemas before their migration.
//
// Up to schema 3, memories, versions and vectors had a checksum of their fields in the column checksum. The migration
// to schema 4 replaces it. Rows that contradict it must not get a checksum that proves them.
package upgrade

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash"
	"math"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// lastFormer is the last schema with the former checksums.
const lastFormer = 3

// MarkDamaged adds a row to metadata for each memory, version and vector of a former schema that contradicts its
// checksum. The migration to schema 4 reads and deletes them.
func MarkDamaged(ctx context.Context, db *sql.DB, schema int64) error {
	if schema < 1 || schema > lastFormer {
		return nil
	}
	derived := "title_derived"
	if schema == 1 {
		derived = "NULL"
	}
	// An upgrade that failed has left marks, and a former program may have written these rows since.
	if _, err := db.ExecContext(ctx, `DELETE FROM metadata WHERE name LIKE 'damaged %'`); err != nil {
		return err
	}
	var marks []string
	for after, n := int64(0), batch; n == batch; {
		list, err := readMemories(ctx, db, derived, after)
		if err != nil {
			return err
		}
		if n = len(list); n == 0 {
			break
		}
		versions, err := readVersions(ctx, db, derived, after, list[n-1].rowID)
		if err != nil {
			return err
		}
		for _, m := range list {
			marks = append(marks, m.damaged(versions[m.rowID])...)
		}
		after = list[n-1].rowID
	}
	vectors, err := damagedVectors(ctx, db)
	if err != nil {
		return err
	}
	for _, name := range append(marks, vectors...) {
		if _, err := db.ExecContext(ctx, `INSERT INTO metadata (name, value) VALUES ($1, '')
			ON CONFLICT (name) DO NOTHING`, name); err != nil {
			return err
		}
	}
	return nil
}

// batch is the number of memories that are read at once.
const batch = 500

// A row has what a memory or a version stores.
type row struct {
	rowID                                                    int64 // of the memory
	id, title, tags, createdBy, verifiedBy, evidence         string
	agent, session, sourceName, sourceURI, sourceGroup       string
	content                                                  sql.NullString
	prefix, position                                         sql.NullInt64
	kind, status, version, sum                               int64
	createdAt, updatedAt, archivedAt, verifiedAt, validUntil int64
	confidence                                               sql.NullFloat64
	derived                                                  sql.NullBool
	invalid                                                  bool // a column has a value of another type
}

func readMemories(ctx context.Context, db *sql.DB, derived string, after int64) (list []row, err error) {
	rows, err := db.QueryContext(ctx, `SELECT row_id, id, title, content, type, status, tags, created_by, agent_id,
		session_id, source_name, source_uri, source_group, source_position, version, created_at, updated_at, archived_at,
		verified_at, verified_by, evidence, confidence, valid_until, checksum, `+derived+` FROM memories
		WHERE row_id > $1 ORDER BY row_id LIMIT $2`, after, batch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m row
		if err := rows.Scan(&m.rowID, &m.id, &m.title, &m.content, &m.kind, &m.status, &m.tags, &m.createdBy, &m.agent,
			&m.session, &m.sourceName, &m.sourceURI, &m.sourceGroup, &m.position, &m.version, &m.createdAt,
			&m.updatedAt, &m.archivedAt, &m.verifiedAt, &m.verifiedBy, &m.evidence, &m.confidence, &m.validUntil,
			&m.sum, &m.derived); err != nil {
			m.invalid = true
		}
		list = append(list, m)
	}
	return list, rows.Err()
}

// readVersions returns the versions of memories by their memory, newest first.
func readVersions(ctx context.Context, db *sql.DB, derived string, after, last int64) (map[int64][]row, error) {
	rows, err := db.QueryContext(ctx, `SELECT memory, version, title, content, prefix_len, type, status, tags, created_at,
		verified_at, verified_by, evidence, confidence, valid_until, checksum, `+derived+` FROM versions
		WHERE memory > $1 AND memory <= $2 ORDER BY memory, version DESC`, after, last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := map[int64][]row{}
	for rows.Next() {
		var v row
		if err := rows.Scan(&v.rowID, &v.version, &v.title, &v.content, &v.prefix, &v.kind, &v.status, &v.tags,
			&v.createdAt, &v.verifiedAt, &v.verifiedBy, &v.evidence, &v.confidence, &v.validUntil, &v.sum,
			&v.derived); err != nil {
			v.invalid = true
		}
		list[v.rowID] = append(list[v.rowID], v)
	}
	return list, rows.Err()
}

// damaged returns the marks of a memory and of its versions that contradict their checksums.
func (r row) damaged(versions []row) (marks []string) {
	if sum, valid := r.memorySum(); !valid || sum != r.sum {
		marks = append(marks, fmt.Sprintf("damaged memories %d", r.rowID))
	}
	text := r.content.String
	for _, v := range versions {
		switch {
		case v.content.Valid:
			text = v.content.String
		case v.prefix.Valid:
			text = text[:min(max(v.prefix.Int64, 0), int64(len(text)))]
		}
		if sum, valid := v.versionSum(text); !valid || sum != v.sum {
			marks = append(marks, fmt.Sprintf("damaged versions %d %d", v.rowID, v.version))
		}
	}
	return marks
}

func damagedVectors(ctx context.Context, db *sql.DB) (marks []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT row_id, text_hash, chunk, vector, checksum FROM vectors`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var rowID, text, chunk, sum int64
		var vector []byte
		if err := rows.Scan(&rowID, &text, &chunk, &vector, &sum); err != nil {
			return nil, err
		}
		d := digest{sha256.New()}
		d.ints(text, chunk)
		d.Write(vector)
		if d.sum() != sum {
			marks = append(marks, fmt.Sprintf("damaged vectors %d", rowID))
		}
	}
	return marks, rows.Err()
}

// A digest computes the SHA-256 of a sequence of fields, each with its length.
type digest struct{ hash.Hash }

func (d digest) ints(list ...int64) {
	for _, n := range list {
		d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
}

func (d digest) texts(list ...string) {
	for _, s := range list {
		d.ints(int64(len(s)))
		d.Write([]byte(s))
	}
}

// rest adds the fields that come last.
func (d digest) rest(r row, more ...string) {
	if r.confidence.Valid {
		d.ints(int64(math.Float64bits(r.confidence.Float64)))
	}
	if len(more) > 0 && more[0]+more[1] != "" {
		d.texts(more...)
	}
	if r.derived.Bool {
		d.texts("title derived")
	}
}

// sum returns the first 64 bits of the digest.
func (d digest) sum() int64 { return int64(binary.BigEndian.Uint64(d.Sum(nil))) }

// words returns the texts of type, tags and status.
func (r row) words() (kind, tags, status string, valid bool) {
	list, err := sqldb.DecodeStrings[string](r.tags)
	if err != nil || r.invalid || r.kind < 0 || r.kind >= int64(len(loci.MemoryTypes)) || r.status < 0 ||
		r.status >= int64(len(loci.MemoryStatuses)) {
		return "", "", "", false
	}
	return string(loci.MemoryTypes[r.kind]), sqldb.EncodeStrings(list), string(loci.MemoryStatuses[r.status]), true
}

// memorySum returns the checksum of a memory.
func (r row) memorySum() (sum int64, valid bool) {
	kind, tags, status, valid := r.words()
	d := digest{sha256.New()}
	d.texts(r.id, r.title, r.content.String, kind, tags, status, r.createdBy, r.verifiedBy, r.evidence)
	d.ints(r.version, r.createdAt, r.updatedAt, r.archivedAt, r.verifiedAt, r.validUntil)
	d.texts(r.sourceName, r.sourceURI, r.sourceGroup)
	if r.position.Valid {
		d.ints(1, r.position.Int64)
	} else {
		d.ints(0)
	}
	d.rest(r, r.agent, r.session)
	return d.sum(), valid
}

// versionSum returns the checksum of a version with a content.
func (r row) versionSum(content string) (sum int64, valid bool) {
	kind, tags, status, valid := r.words()
	d := digest{sha256.New()}
	d.texts(r.title, content, kind, tags, status, r.verifiedBy, r.evidence)
	d.ints(r.version, r.verifiedAt, r.validUntil, r.createdAt)
	d.rest(r)
	return d.sum(), valid
}
