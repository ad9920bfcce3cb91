package server

import (
	"context"
	"io"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/server/backup"
)

// Backup writes a backup of the SQLite database: see backup.Source.Write.
func (s Settings) Backup(ctx context.Context, file string, force bool, out io.Writer,
	progress backup.Progress) (backup.Manifest, error) {
	if s.DB != "" {
		return backup.Manifest{}, loci.Errorf(loci.CodeInvalidQuery,
			"loci admin backup copies SQLite databases. For PostgreSQL use:\n  %s", backup.DumpCommand(s.DB, file))
	}
	if err := s.RequireDatabase(ctx); err != nil {
		return backup.Manifest{}, err
	}
	return backup.Source{Data: s.Data, Version: Version}.Write(ctx, file, force, out, progress)
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
	return backup.Restore(ctx, s.Data, s.lock, from, progress)
}
