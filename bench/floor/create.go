package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// creator writes the rows of a create on one connection, many in a commit.
type creator struct {
	jobs                                  chan *job
	begin, commit, addMemory, addIndexLog *sql.Stmt
	addBands, addToQueue                  *sql.Stmt
	userID, workspaceID, atlasID          string
	workspace, atlas                      int64
	document                              []byte
}

type job struct {
	m    *memory
	done chan error
}

// The bounds of one commit in Loci.
const (
	maxBatch = 64
	maxWait  = 2 * time.Millisecond
)

const createStatements = `BEGIN IMMEDIATE; COMMIT;
	INSERT INTO memories (id, workspace, atlas, title, content, hash, checksum, type, status, tags, source_name,
		source_uri, source_group, source_position, version, created_by, created_at, updated_at, updated_by)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, 0, ?8, '', '', '', NULL, 1, ?9, ?10, ?10, ?9);
	INSERT INTO index_log (workspace, memory, atlas, type, status, tags, created_at, deleted, verified, valid_until,
		memories, bytes, document, group_id, position)
		VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?7, 0, 1, ?8, ?9, 0, 0);
	INSERT INTO minhash_bands (workspace, band, memory) VALUES (?1, ?3, ?2), (?1, ?4, ?2), (?1, ?5, ?2), (?1, ?6, ?2);
	INSERT INTO embedding_queue (memory, workspace, owner, is_long, due, attempts, error, failed_at)
		VALUES (?1, ?2, 1, FALSE, ?3, 0, '', 0)`

// newCreator handles POST /v1/memories.
func newCreator(path string, blob int) (http.Handler, error) {
	db, err := open(path)
	if err != nil {
		return nil, err
	}
	c := &creator{jobs: make(chan *job, maxBatch), document: []byte(strings.Repeat("d", blob))}
	if c.userID, err = largestOwner(db); err != nil {
		return nil, err
	}
	err = db.QueryRow(
		`SELECT w.row_id, w.id, a.row_id, a.id FROM workspaces w JOIN atlases a ON a.workspace = w.row_id AND `+
			`a.inbox WHERE w.personal_of = ?1`, c.userID).
		Scan(&c.workspace, &c.workspaceID, &c.atlas, &c.atlasID)
	if err != nil {
		return nil, err
	}
	list, err := prepareOn(db, createStatements, `PRAGMA journal_mode = WAL`, `PRAGMA synchronous = FULL`,
		`PRAGMA foreign_keys = ON`, `PRAGMA secure_delete = FAST`, `PRAGMA cache_size = -16000`)
	if err != nil {
		return nil, err
	}
	c.begin, c.commit, c.addMemory, c.addIndexLog, c.addBands, c.addToQueue = list[0], list[1], list[2], list[3],
		list[4], list[5]
	go c.run()
	return c, nil
}

func (c *creator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Title, Content string
		Tags           json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		writeJSON(w, 0, nil, err)
		return
	}
	now := time.Now()
	m := &memory{ID: string(loci.NewID(now)), WorkspaceID: c.workspaceID, AtlasID: c.atlasID, Title: in.Title,
		Content: in.Content, Kind: 5, Tags: in.Tags,
		Version: 1, CreatedBy: c.userID, CreatedAt: now.UnixMicro(), UpdatedAt: now.UnixMicro()}
	j := &job{m, make(chan error, 1)}
	c.jobs <- j
	writeJSON(w, http.StatusCreated, map[string]any{"memory": m}, <-j.done)
}

// run commits the gathered writes. It waits for as many as the last commit had, for two milliseconds at most.
func (c *creator) run() {
	last := 1
	for first := range c.jobs {
		last = c.commitBatch(first, last)
	}
}

func (c *creator) commitBatch(first *job, last int) int {
	_, err := c.begin.Exec()
	batch := []*job{first}
	failed := c.add(first.m)
	var late <-chan time.Time
gather:
	for len(batch) < maxBatch && failed == nil {
		select {
		case j := <-c.jobs:
			batch, failed = append(batch, j), c.add(j.m)
			continue
		default:
		}
		if len(batch) >= last {
			break
		}
		if late == nil {
			late = time.After(maxWait)
		}
		select {
		case j := <-c.jobs:
			batch, failed = append(batch, j), c.add(j.m)
		case <-late:
			break gather
		}
	}
	_, end := c.commit.Exec()
	err = errors.Join(err, failed, end)
	for _, j := range batch {
		j.done <- err
	}
	return len(batch)
}

func (c *creator) add(m *memory) error {
	h := sha256.Sum256([]byte(m.Content))
	tags := string(m.Tags)
	r, err := c.addMemory.Exec(m.ID, c.workspace, c.atlas, m.Title, m.Content, int64(binary.BigEndian.Uint64(h[:8])),
		m.Kind, tags, c.userID, m.CreatedAt)
	if err != nil {
		return err
	}
	rid, err := r.LastInsertId()
	if err != nil {
		return err
	}
	if _, err := c.addIndexLog.Exec(c.workspace, rid, c.atlas, m.Kind, tags, m.CreatedAt, false, len(m.Content),
		c.document); err != nil {
		return err
	}
	band := func(i int) int64 { return int64(binary.LittleEndian.Uint64(h[8*i:])) }
	if _, err := c.addBands.Exec(c.workspace, rid, band(0), band(1), band(2), band(3)); err != nil {
		return err
	}
	_, err = c.addToQueue.Exec(rid, c.workspace, m.CreatedAt)
	return err
}
