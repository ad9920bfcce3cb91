package sessiondb

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// ReadPolicy returns the policy of a user in a workspace. A deleted atlas is none.
func ReadPolicy(t *sqldb.Tx, userID loci.ID, workspace int64) (loci.Policy, error) {
	p := loci.DefaultPolicy()
	var off, paths string
	err := t.QueryRow(`SELECT p.enabled, p.paused, p.mode, COALESCE((SELECT a.id FROM atlases a
			WHERE a.row_id = p.atlas AND a.workspace = p.workspace), ''), p.adapters_off, p.min_length, p.exclude_paths,
			p.created_at, p.updated_at
		FROM policies p WHERE p.user_id = ?1 AND p.workspace = ?2`, []any{userID, workspace},
		[]any{&p.Enabled, &p.Paused, &p.Mode, &p.AtlasID, &off, &p.MinLength, &paths, &p.CreatedAt, &p.UpdatedAt})
	if errors.Is(err, sqldb.ErrNoRows) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	list, err := sqldb.DecodeStrings[loci.Adapter](off)
	if err != nil {
		return p, err
	}
	p.Adapters = loci.NewAdapterSwitches(list)
	p.ExcludePaths, err = sqldb.DecodeStrings[string](paths)
	return p, err
}

// WritePolicy replaces the policy of a user in a workspace; atlas is the row of its atlas, or 0.
func WritePolicy(t *sqldb.Tx, userID loci.ID, workspace, atlas int64, p loci.Policy) error {
	var row *int64
	if atlas != 0 {
		row = &atlas
	}
	_, err := t.Exec(`INSERT INTO policies (user_id, workspace, enabled, paused, mode, atlas, adapters_off, min_length,
			exclude_paths, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10)
		ON CONFLICT (user_id, workspace) DO UPDATE SET enabled = excluded.enabled, paused = excluded.paused,
			mode = excluded.mode, atlas = excluded.atlas, adapters_off = excluded.adapters_off,
			min_length = excluded.min_length, exclude_paths = excluded.exclude_paths,
			updated_at = CASE WHEN policies.updated_at < excluded.updated_at THEN excluded.updated_at
				ELSE policies.updated_at + 1 END`,
		userID, workspace, p.Enabled, p.Paused, p.Mode, row, sqldb.EncodeStrings(p.Adapters.Off()), p.MinLength,
		sqldb.EncodeStrings(p.ExcludePaths), t.Now)
	return err
}
