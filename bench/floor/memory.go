package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// memory has the shown fields of a row.
type memory struct {
	ID          string          `json:"id"`
	WorkspaceID string          `json:"workspaceId"`
	AtlasID     string          `json:"atlasId"`
	Title       string          `json:"title"`
	Content     string          `json:"content"`
	Kind        int             `json:"type"`
	Tags        json.RawMessage `json:"tags"`
	Status      int             `json:"status"`
	Version     int             `json:"version"`
	CreatedBy   string          `json:"createdBy"`
	CreatedAt   int64           `json:"createdAt"`
	UpdatedAt   int64           `json:"updatedAt"`
	Score       float64         `json:"score,omitzero"`
}

const columns = ` e.id, w.id, a.id, e.title, e.content, e.type, e.tags, e.status, e.version, e.created_by, e.created_at,
	e.updated_at, e.source_name, e.source_uri, e.source_group, e.source_position `

// scopeJoins are the necessary joins of a response: the caller's memberships, and the ids of workspace and atlas.
const scopeJoins = ` JOIN members m ON m.workspace = e.workspace AND m.user_id = ?1 JOIN workspaces w ON w.row_id = ` +
	`e.workspace JOIN atlases a ON a.row_id = e.atlas `

func (m *memory) scan(row interface{ Scan(...any) error }, more ...any) {
	var tags, name, uri, group string
	var position *int64
	check(row.Scan(append([]any{&m.ID, &m.WorkspaceID, &m.AtlasID, &m.Title, &m.Content, &m.Kind, &tags, &m.Status,
		&m.Version, &m.CreatedBy, &m.CreatedAt, &m.UpdatedAt, &name, &uri, &group, &position}, more...)...))
	m.Tags = json.RawMessage(tags)
}

// open opens a database with the settings of Loci's connections.
func open(path string) *sql.DB {
	must(os.Stat(path))
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "_mutex=no"}
	db := must(sql.Open(driver, address.String()))
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	return db
}

// largestOwner returns the owner of the workspace with the most memories.
func largestOwner(db *sql.DB) (id string) {
	check(db.QueryRow(`SELECT m.user_id FROM members m WHERE m.role = 'owner' ORDER BY (SELECT count(*) FROM ` +
		`memories e WHERE e.workspace = m.workspace) DESC LIMIT 1`).Scan(&id))
	return id
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.Encode(v)
}

// newGetter handles GET /v1/memories/{id} with one prepared statement, and GET /rows?q=[1,2,3] for those rows.
func newGetter(path string) http.Handler {
	one := newReadHandler(path, `SELECT`+columns+`FROM memories e`+scopeJoins+`WHERE e.id = ?2`,
		func(s *sql.Stmt, userID string, w http.ResponseWriter, r *http.Request) {
			var m memory
			m.scan(s.QueryRow(userID, strings.TrimPrefix(r.URL.Path, "/v1/memories/")))
			writeJSON(w, http.StatusOK, &m)
		})
	rows := newReadHandler(path, `SELECT`+columns+`, 0 FROM memories e`+scopeJoins+
		`WHERE e.row_id IN (SELECT value FROM json_each(?2))`, list)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/rows" {
			rows.ServeHTTP(w, r)
			return
		}
		one.ServeHTTP(w, r)
	})
}

// newReadHandler serves f with a statement on connections with the settings of Loci's readers.
func newReadHandler(path, q string, f func(*sql.Stmt, string, http.ResponseWriter, *http.Request)) http.Handler {
	db, idle := open(path), make(chan *sql.Stmt, 2)
	userID := largestOwner(db)
	for range cap(idle) {
		idle <- prepareOn(db, q, `PRAGMA query_only = ON`, `PRAGMA cache_size = -2000`)[0]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := <-idle
		defer func() { idle <- s }()
		f(s, userID, w, r)
	})
}

// prepareOn reserves a connection, and returns the statements in q, which are separated by semicolons, prepared on it.
func prepareOn(db *sql.DB, q string, pragmas ...string) (list []*sql.Stmt) {
	ctx := context.Background()
	c := must(db.Conn(ctx))
	for _, p := range append([]string{`PRAGMA busy_timeout = 10000`, `PRAGMA temp_store = MEMORY`,
		`PRAGMA mmap_size = 1073741824`}, pragmas...) {
		rows := must(c.QueryContext(ctx, p))
		rows.Next()
		rows.Close()
	}
	for part := range strings.SplitSeq(q, ";") {
		list = append(list, must(c.PrepareContext(ctx, part)))
	}
	return list
}

// newFinder makes the FTS5 table in its most compact form, and handles GET /best?q=, an expression of FTS5. It does the
// least for 20 rows: it ranks, and joins rows in that order until it has 20.
func newFinder(path string) http.Handler {
	db := open(path)
	defer db.Close()
	for _, q := range []string{
		`CREATE VIRTUAL TABLE words USING fts5 (title, content, content = 'memories', content_rowid = 'row_id', ` +
			`tokenize = 'porter')`,
		`INSERT INTO words (words) VALUES ('rebuild')`, `INSERT INTO words (words) VALUES ('optimize')`} {
		must(db.Exec(q))
	}
	return newReadHandler(path, `SELECT`+columns+`, words.rank FROM words CROSS JOIN memories e ON `+
		`e.row_id = words.rowid`+scopeJoins+`WHERE words MATCH ?2 AND e.status = 0 ORDER BY words.rank LIMIT 20`, list)
}

// list writes the memories that a statement finds.
func list(s *sql.Stmt, userID string, w http.ResponseWriter, r *http.Request) {
	rows := must(s.Query(userID, r.URL.Query().Get("q")))
	defer rows.Close()
	var memories []memory
	for rows.Next() {
		var m memory
		m.scan(rows, &m.Score)
		memories = append(memories, m)
	}
	check(rows.Err())
	writeJSON(w, http.StatusOK, memories)
}
