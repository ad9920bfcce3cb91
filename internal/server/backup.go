package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/server/backup"
)

// Backup writes a backup of the SQLite database: see backup.Source.Write.
func (s Settings) Backup(ctx context.Context, file string, force bool, out io.Writer,
	progress backup.Progress) (backup.Manifest, error) {
	if s.DB != "" {
		return backup.Manifest{}, loci.Errorf(loci.CodeInvalidQuery,
			"loci admin backup copies SQLite databases. For PostgreSQL use:\n  %s",
			backup.DumpCommand(s.DB, file, s.Data))
	}
	if err := s.RequireDatabase(ctx); err != nil {
		return backup.Manifest{}, err
	}
	return backup.Source{Data: s.Data, Version: Version, OpenBucket: s.savedBucket}.Write(ctx, file, force, out,
		progress)
}

// Restore makes the SQLite database of a backup: see backup.Restore.
func (s Settings) Restore(ctx context.Context, from io.Reader, file string,
	progress backup.Progress) (backup.Result, error) {
	if s.DB != "" && file != "-" && backup.IsBackup(from) { // standard input may be a terminal
		return backup.Result{}, loci.Errorf(loci.CodeInvalidQuery,
			"%s is a backup of SQLite: restore it into a folder (--data). PostgreSQL takes what pg_dump wrote.", file)
	}
	if s.DB != "" {
		return backup.Result{}, loci.Errorf(loci.CodeInvalidQuery,
			"loci admin backup restore makes SQLite databases. "+
				"For PostgreSQL use, with an empty database:\n  %s", backup.RestoreCommand(s.DB, file))
	}
	bucket, err := s.openBucket()
	if err != nil {
		return backup.Result{}, err
	}
	return backup.Restore(ctx, s.Data, bucket, s.lock, from, progress)
}

// savedBucket opens the bucket of a server that has saved its settings, unless this process has another one.
func (s Settings) savedBucket(settings string) (blob.Bucket, error) {
	var saved map[string]string
	if settings != "" {
		if err := json.Unmarshal([]byte(settings), &saved); err != nil {
			return nil, fmt.Errorf("the saved settings of the server: %w", err)
		}
	}
	if v := saved["blobs"]; v != "" && s.given["blobs"] == "" {
		s.Blobs = v
	}
	return s.openBucketOrClosed(), nil
}
