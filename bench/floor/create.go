package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
)

// creator writes the rows of a create on one connection, many in a commit.
type creator struct {
	jobs                         chan *job
	statements                   []*sql.Stmt // createStatements
	userID, workspaceID, atlasID string
	workspace, atlas             int64
	document                     []byte
}

type job struct {
	m    *memory
	done chan struct{}
}

// The bounds of one commit in Loci.
const (
	maxBatch = 64
	maxWait  = 2 * time.Millisecond
)

const createStatements = `BEGIN IMMEDIATE; COMMIT;
	INSERT INTO memories (id, workspace, atlas, title, content, hash, row_checksum, type, status, tags, source_name,
		source_uri, source_group, source_position, version, created_by, created_at, updated_at, updated_by)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, 0, ?8, '', '', '', NULL, 1, ?9, ?10, ?10, ?9);
	INSERT INTO index_log (workspace, memory, atlas, type, status, tags, created_at, deleted, verified, valid_until,
		memories, bytes, document, group_id, position)
		VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?7, 0, 1, ?8, ?9, 0, 0);
	INSERT INTO minhash_bands (workspace, band, memory) VALUES (?1, ?3, ?2), (?1, ?4, ?2), (?1, ?5, ?2), (?1, ?6, ?2);
	INSERT INTO embedding_queue (memory, workspace, owner, is_long, due, attempts, error, failed_at)
		VALUES (?1, ?2, 1, FALSE, ?3, 0, '', 0);
	INSERT INTO changes (workspace, record) VALUES (?1, ?2)`

// newCreator handles POST /v1/memories.
func newCreator(path string, blob int) http.Handler {
	db := open(path)
	c := &creator{jobs: make(chan *job, maxBatch), document: make([]byte, blob), userID: largestOwner(db)}
	check(db.QueryRow(`SELECT w.row_id, w.id, a.row_id, a.id FROM workspaces w JOIN atlases a ON `+
		`a.workspace = w.row_id AND a.inbox WHERE w.personal_of = ?1`, c.userID).
		Scan(&c.workspace, &c.workspaceID, &c.atlas, &c.atlasID))
	c.statements = prepareOn(db, createStatements, `PRAGMA journal_mode = WAL`, `PRAGMA synchronous = FULL`,
		`PRAGMA foreign_keys = ON`, `PRAGMA secure_delete = FAST`, `PRAGMA cache_size = -16000`)
	go c.run()
	return c
}

func (c *creator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Title, Content string
		Tags           json.RawMessage
	}
	check(json.NewDecoder(r.Body).Decode(&in))
	now := time.Now()
	j := &job{&memory{ID: string(loci.NewID(now)), WorkspaceID: c.workspaceID, AtlasID: c.atlasID, Title: in.Title,
		Content: in.Content, Kind: 5, Tags: in.Tags, Version: 1, CreatedBy: c.userID, CreatedAt: now.UnixMicro(),
		UpdatedAt: now.UnixMicro()}, make(chan struct{})}
	c.jobs <- j
	<-j.done
	writeJSON(w, http.StatusCreated, map[string]any{"memory": j.m})
}

// run commits the gathered writes. It waits for as many as the last commit had, for two milliseconds at most.
func (c *creator) run() {
	last := 1
	for first := range c.jobs {
		must(c.statements[0].Exec())
		batch := []*job{first}
		c.add(first.m)
		for late := time.After(maxWait); late != nil && len(batch) < maxBatch; {
			if len(batch) >= last && len(c.jobs) == 0 {
				break
			}
			select {
			case j := <-c.jobs:
				c.add(j.m)
				batch = append(batch, j)
			case <-late:
				late = nil
			}
		}
		must(c.statements[1].Exec())
		last = len(batch)
		for _, j := range batch {
			close(j.done)
		}
	}
}

func (c *creator) add(m *memory) {
	h := sha256.Sum256([]byte(m.Content))
	band := func(i int) int64 { return int64(binary.LittleEndian.Uint64(h[8*i:])) }
	tags := string(m.Tags)
	r := must(c.statements[2].Exec(m.ID, c.workspace, c.atlas, m.Title, m.Content, band(0), m.Kind, tags, c.userID,
		m.CreatedAt))
	rid := must(r.LastInsertId())
	must(c.statements[3].Exec(c.workspace, rid, c.atlas, m.Kind, tags, m.CreatedAt, false, len(m.Content), c.document))
	must(c.statements[4].Exec(c.workspace, rid, band(0), band(1), band(2), band(3)))
	must(c.statements[5].Exec(rid, c.workspace, m.CreatedAt))
	must(c.statements[6].Exec(c.workspace, "memory "+m.ID))
}
