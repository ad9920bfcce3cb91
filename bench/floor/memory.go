package main

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
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
	e.updated_at,
	e.source_name, e.source_uri, e.source_group, e.source_position `

// scopeJoins are the necessary joins of a response: the caller's memberships, and the ids of workspace and atlas.
const scopeJoins = ` JOIN members m ON m.workspace = e.workspace AND m.user_id = ?1 JOIN workspaces w ON w.row_id = ` +
	`e.workspace JOIN atlases a ON a.row_id = e.atlas `

func (m *memory) scan(row interface{ Scan(...any) error }, more ...any) error {
	var tags string
	var name, uri, group string
	var position *int64
	err := row.Scan(append([]any{&m.ID, &m.WorkspaceID, &m.AtlasID, &m.Title, &m.Content, &m.Kind, &tags, &m.Status,
		&m.Version,
		&m.CreatedBy, &m.CreatedAt, &m.UpdatedAt, &name, &uri, &group, &position}, more...)...)
	m.Tags = json.RawMessage(tags)
	return err
}

// open opens a database with the settings of Loci's connections.
func open(path string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	db, err := sql.Open(driver, (&url.URL{Scheme: "file", Path: filepath.ToSlash(path),
		RawQuery: "_mutex=no"}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	return db, nil
}

// largestOwner returns the owner of the workspace with the most memories.
func largestOwner(db *sql.DB) (id string, err error) {
	err = db.QueryRow(
		`SELECT m.user_id FROM members m WHERE m.role = 'owner' ORDER BY (SELECT count(*) FROM memories e WHERE ` +
			`e.workspace = m.workspace) DESC LIMIT 1`).Scan(&id)
	return id, err
}

// writeJSON writes v, or the error in a line.
func writeJSON(w http.ResponseWriter, status int, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.Encode(v)
}
