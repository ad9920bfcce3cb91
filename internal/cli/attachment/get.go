package attachment

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/records"
)

// A getter is the command that downloads a file.
type getter struct {
	Options
	memory, output string
	force          bool
}

// A savedFile is the object of loci attachment get.
type savedFile struct {
	ID       loci.ID `json:"id"`
	FileName string  `json:"fileName"`
	Path     string  `json:"path"`
	Size     int64   `json:"size"`
	SHA256   string  `json:"sha256"`
}

func (o Options) getCommand() *cobra.Command {
	g := &getter{Options: o}
	cmd := &cobra.Command{
		Use:   "get <attachment-id>",
		Short: "Download a file of a memory",
		Long: "Downloads a file of a memory into the working folder, under its name without the characters that a\n" +
			"file system gives a meaning. It replaces no other file without --force. The bytes arrive in a file\n" +
			"that ends with .part, which gets the name when its checksum is right. After a broken connection the\n" +
			"download continues by itself, and after an interruption with the next run of the same command.",
		Example: "loci attachment get 3f9c2a7b --memory 8d1e60b4\n" +
			"loci attachment get 01a228db-f712-73b1-bb99-837db95c4956 --output plan.pdf --force\n" +
			"loci attachment get 3f9c2a7b --memory 8d1e60b4 --output - | gunzip",
		Args: command.ExactArgs("<attachment-id>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.check(); err != nil {
				return err
			}
			return o.withSession(cmd.Context(), true, func(s *Session) error {
				return g.run(cmd.Context(), s, args[0])
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&g.memory, "memory", "", "The `ID` of the memory of the file: a part of the id of the file does then")
	f.StringVarP(&g.output, "output", "o", "", "Write to this `FILE` or into this folder; - is the standard output")
	f.BoolVar(&g.force, "force", false, "Replace an existing file")
	return cmd
}

// check returns the error of flags that exclude each other.
func (g *getter) check() error {
	if g.output != stream {
		return nil
	}
	if width, _ := g.Console.Terminal(g.Console.Out); width > 0 {
		return command.UsageError("a file may be binary: name a file, or redirect - to a file or a pipe")
	}
	if g.Console.JSON {
		return command.UsageError("--output - and --json exclude each other: both write to the standard output")
	}
	return nil
}

func (g *getter) run(ctx context.Context, s *Session, id string) error {
	found, err := s.find(ctx, g.memory, []string{id})
	if err != nil {
		return err
	}
	d := &download{session: s, file: found[0]}
	if err := d.begin(ctx); err != nil {
		return err
	}
	defer d.drop()
	progress := g.Console.Progress("MiB  " + clean(d.file.FileName))
	defer progress.Clear()
	d.progress = progress.UpdateBytes
	if g.output == stream {
		if err := d.read(ctx, g.Console.Out); err != nil {
			return err
		}
		progress.Clear()
		g.warn(d)
		return nil
	}
	path, err := g.path(d.file)
	if err != nil {
		return err
	}
	if err := d.save(ctx, path, g.force); err != nil {
		return err
	}
	progress.Clear()
	g.warn(d)
	if !g.Console.JSON {
		_, err := fmt.Fprintf(g.Console.Out, "Saved %s (%s)\n", clean(path), format.Bytes(d.offset))
		return err
	}
	return g.print(savedFile{d.file.ID, d.file.FileName, path, d.offset, d.sum()})
}

// warn reports a checksum that could not be compared.
func (g *getter) warn(d *download) {
	if d.file.SHA256 == "" {
		g.Console.PrintMessage("the checksum was not compared: this file store does not tell it. --memory names the " +
			"memory, which has it")
	}
}

// path returns the path of a file. Without --force it must not exist.
func (g *getter) path(a loci.Attachment) (string, error) {
	path, name := g.output, shorten(loci.FileName(a.FileName).Safe(), "")
	if path == "" {
		path = name
	} else if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, name)
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return "", loci.Errorf(loci.CodeInvalidQuery, "%s is a folder: name the file with --output", path)
	case err == nil && !g.force:
		return "", existsError(path)
	}
	return path, nil
}

func existsError(path string) error {
	return loci.Errorf(loci.CodeStateConflict, "%s exists: name another file with --output, or replace it with --force",
		path)
}

// maxName is the number of bytes that file systems allow in a name.
const maxName = 255

// shorten cuts a name, so that file systems take it with its suffix.
func shorten(name, suffix string) string {
	if over := len(name) + len(suffix) - maxName; over > 0 {
		name = strings.ToValidUTF8(name[:max(0, len(name)-over)], "")
	}
	return name + suffix
}

// A download reads a file, over several connections if they break.
type download struct {
	session  *Session
	file     loci.Attachment // as far as it is known
	etag     string          // "" if a broken connection cannot be continued
	body     *client.File    // the connection, or nil
	progress func(done, total int64)

	hash   hash.Hash // of the bytes until offset
	offset int64
}

// sha256ETag matches the entity tag of a file that Loci itself serves.
var isSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

var sha256ETag = regexp.MustCompile(`^"([0-9a-f]{64})"$`)

// begin opens the file, and learns its properties.
func (d *download) begin(ctx context.Context) (err error) {
	d.hash, d.progress = sha256.New(), func(int64, int64) {}
	if d.body, err = d.open(ctx, 0); err != nil {
		return err
	}
	a := &d.file
	if a.SHA256 == "" {
		a.Size = d.body.Size
		if m := sha256ETag.FindStringSubmatch(d.body.ETag); m != nil {
			a.SHA256 = m[1]
		}
	}
	if a.SHA256 != "" && !isSHA256.MatchString(a.SHA256) { // it is a part of a file name
		d.drop()
		return loci.Errorf(loci.CodeInternalError, "the server told a checksum that is none")
	}
	a.FileName = cmp.Or(a.FileName, d.body.Name, string(a.ID))
	if !strings.HasPrefix(d.body.ETag, "W/") {
		d.etag = d.body.ETag
	}
	return nil
}

// drop closes the connection.
func (d *download) drop() {
	if d.body != nil {
		d.body.Close() // it was read, or is broken
		d.body = nil
	}
}

// open opens the file from an offset on, under an address of its own.
func (d *download) open(ctx context.Context, offset int64) (*client.File, error) {
	down, err := records.Do[loci.Download](ctx, d.session.Reader, "attachment.download",
		loci.GetAttachment{AttachmentID: d.file.ID})
	if err != nil {
		return nil, err
	}
	return d.session.Files.GetFile(ctx, down.URL, offset, d.etag)
}

// read writes the rest of the file to w.
func (d *download) read(ctx context.Context, w io.Writer) error {
	err := repeat(ctx, isTemporary, func() (moved bool, err error) {
		if d.body == nil {
			if d.body, err = d.open(ctx, d.offset); err != nil {
				return false, err
			}
		}
		defer d.drop()
		if d.body.Offset != d.offset { // another file, or a server without ranges
			return false, errNoRange
		}
		n, err := io.Copy(io.MultiWriter(destination{w}, d), d.body)
		return n > 0, err
	})
	switch {
	case err != nil:
		return err
	case d.file.Size >= 0 && d.offset != d.file.Size, d.file.SHA256 != "" && d.sum() != d.file.SHA256:
		return errChecksum
	}
	return nil
}

// Errors of downloads.
var (
	errNoRange = loci.Errorf(loci.CodeStateConflict, "the connection broke, and the rest of the file cannot be asked "+
		"for: get it again")
	errChecksum = loci.Errorf(loci.CodeStateConflict, "the bytes that arrived have another checksum or length than "+
		"the file: get it again")
)

// Write takes account of bytes that were written.
func (d *download) Write(p []byte) (int, error) {
	d.hash.Write(p)
	d.offset += int64(len(p))
	d.progress(d.offset, d.file.Size)
	return len(p), nil
}

// A destination explains why a file cannot be written.
type destination struct{ io.Writer }

// Write implements io.Writer.
func (o destination) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil {
		err = fmt.Errorf("the file cannot be written: %w", err)
	}
	return n, err
}

// sum returns the checksum of the bytes until the offset.
func (d *download) sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }
