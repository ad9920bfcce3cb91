package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/server/backup"
)

func (c commands) backup() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a backup of the database and the files of memories to a file",
		Long: "Writes a backup of the SQLite database and of the files of memories to FILE, which appears once it is " +
			"complete: a tar of\n" +
			"manifest.json (version, schema, counts and hashes), loci.db, and the files. The server may run and " +
			"write meanwhile: a file\n" +
			"that is deleted then is listed as missing. With - it goes to the standard output. FILE holds all that " +
			"the database and the\n" +
			"file store hold: keep it as safe. For PostgreSQL the command names the line of pg_dump.",
		Example: "loci admin backup /backup/loci.tar\nloci admin backup - | ssh host 'cat > loci.tar'",
		Args:    command.ExactArgs("FILE"),
	}
	cmd.Flags().BoolVar(&force, "force", false, "Replace an existing file")
	c.settingsCommand(cmd, func(ctx context.Context, s server.Settings, args []string) (o adminResult, err error) {
		file := args[0]
		if width, _ := c.Terminal(c.Out); file == "-" && width > 0 {
			return o, command.UsageError("a backup is binary: name a file, or redirect - to a file or a pipe")
		}
		if file == "-" {
			signal.Ignore(syscall.SIGPIPE) // the error of the pipe ends the backup, and its temporary files
		}
		b := c.Progress("MiB")
		m, err := s.Backup(ctx, file, force, c.Out, b.UpdateBytes)
		if b.Clear(); err != nil {
			return o, err
		}
		text := fmt.Sprintf("Wrote %s: %s.\n%s", file, manifestSummary(m), missingFiles(m))
		if file == "-" { // the standard output has the backup
			_, err := io.WriteString(c.Err, text)
			return o, err
		}
		return adminResult{object: backupResult{file, m}, text: text}, nil
	})
	cmd.AddCommand(c.verifyBackup(), c.restoreBackup())
	return cmd
}

// A backupResult is the output of a backup with --json.
type backupResult struct {
	File string `json:"file"`
	backup.Manifest
}

// A verifiedBackup is the output of a verification with --json.
type verifiedBackup struct {
	File string `json:"file"`
	backup.Verification
}

func (c commands) verifyBackup() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE",
		Short: "Compare a backup with its manifest",
		Long: "Reads a backup to its end and compares its files with the hashes in its manifest and database, and " +
			"the rows of its\n" +
			"database with the counts and their checksums. It lists the files of memories that were missing or " +
			"damaged already. The\n" +
			"database is in the temporary folder (TMPDIR) meanwhile. - is the standard input.",
		Example: "loci admin backup verify /backup/loci.tar",
		Args:    command.ExactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := c.openBackup(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer from.Close()
			b := c.Progress("MiB")
			v, err := backup.Verify(cmd.Context(), from, b.UpdateBytes)
			if b.Clear(); err != nil {
				return err
			}
			text := fmt.Sprintf("%s is whole: %s, made %s.\n%s", args[0], manifestSummary(v.Manifest),
				v.CreatedAt.Format("2006-01-02 15:04"), missingFiles(v.Manifest))
			if len(v.NotChecked) > 0 {
				text += fmt.Sprintf("Schema %d has no checksums for the rows of %s: these were not checked.\n",
					v.Schema, strings.Join(v.NotChecked, ", "))
			}
			return c.printResult(adminResult{object: verifiedBackup{args[0], v}, text: text})
		},
	}
}

func (c commands) restoreBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a database from a backup",
		Long: "Makes the SQLite database of a backup in a data folder that has none, once its hashes are verified. " +
			"All sign-ins of\n" +
			"browsers, grants of programs and links of mails end: people sign in again, and connect their programs " +
			"again.\n" +
			"The files of memories go to the file store of LOCI_BLOBS, by default in the data folder. Files that are " +
			"there stay as they are.\n" +
			"API keys work as they did when the backup was made: the command lists them, because keys that were " +
			"revoked since work\nagain. " +
			"Memories that were deleted or purged since are restored too. - is the standard input.\n" +
			"For PostgreSQL the command prints the pg_restore command to use.",
		Example: "loci admin backup restore /backup/loci.tar --data /var/lib/loci",
		Args:    command.ExactArgs("FILE"),
	}
	return c.settingsCommand(cmd, func(ctx context.Context, s server.Settings,
		args []string) (o adminResult, err error) {
		from, err := c.openBackup(ctx, args[0])
		if err != nil {
			return o, err
		}
		defer from.Close()
		b := c.Progress("MiB")
		r, err := s.Restore(ctx, from, args[0], b.UpdateBytes)
		if b.Clear(); err != nil {
			return o, err
		}
		var text strings.Builder
		fmt.Fprintf(&text, "Restored %s: %s. %s and %s ended: people sign in again, and connect their programs "+
			"again.\n", s.Data, manifestSummary(r.Manifest), format.Plural(r.Signins, "sign-in", "sign-ins"),
			format.Plural(r.Grants, "grant of a program", "grants of programs"))
		text.WriteString(missingFiles(r.Manifest))
		if len(r.Keys) > 0 {
			text.WriteString("These API keys work; revoke again those that were revoked after the backup was made:\n")
		}
		for _, k := range r.Keys {
			fmt.Fprintf(&text, "  %s  %s  %s\n", k.ID, format.StripControl(k.Email, false),
				format.StripControl(k.Name, false))
		}
		return adminResult{object: r, text: text.String(), hint: "A backup has no settings: copy loci.toml of the " +
			"former data folder to " + s.Data + ", or set its variables, before the server starts.\n"}, nil
	})
}

// openBackup opens the backup file of a command; - is the standard input.
func (c commands) openBackup(ctx context.Context, file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(c.Stdin(ctx)), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s is a folder: name a backup", file), f.Close())
	}
	return f, nil
}

// manifestSummary describes the contents of a backup.
func manifestSummary(m backup.Manifest) string {
	size := int64(0)
	for _, f := range m.Files {
		size += f.Bytes
	}
	files := ""
	if a := m.Attachments; a != nil && a.Count > 0 {
		size, files = size+a.Bytes, ", "+format.Plural(a.Count, "file", "files")
	}
	return fmt.Sprintf("%s, %s, %s%s, schema %d, %.1f MiB",
		format.Plural(m.Counts["memories"], "memory", "memories"),
		format.Plural(m.Counts["workspaces"], "workspace", "workspaces"),
		format.Plural(m.Counts["users"], "user", "users"), files, m.Schema, float64(size)/(1<<20))
}

// missingFiles lists the files of memories that a backup lacks, each in a line.
func missingFiles(m backup.Manifest) string {
	if m.Attachments == nil {
		return ""
	}
	var text strings.Builder
	for _, id := range m.Attachments.Missing {
		fmt.Fprintf(&text, "The file of the attachment %s is missing: it was deleted meanwhile, or lost before.\n", id)
	}
	for _, id := range m.Attachments.Damaged {
		fmt.Fprintf(&text, "The file of the attachment %s was damaged before the backup, and is not restored.\n", id)
	}
	return text.String()
}
