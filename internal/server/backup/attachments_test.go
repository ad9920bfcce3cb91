package backup_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/blob/blobtest"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A fileServer is a server with a memory.
type fileServer struct {
	*testing.T
	dir    string
	s      *store.Store
	svc    *service.Service
	ann    *identity.Actor
	memory loci.ID
	bucket blob.Bucket
}

func newFileServer(t *testing.T, open func(dir string) blob.Bucket) *fileServer {
	t.Helper()
	d := storetest.Database{Dir: storetest.NewDir(t)}
	x := &fileServer{T: t, dir: d.Dir, s: d.Open(t, store.Options{}), bucket: open(d.Dir)}
	x.svc = service.New(service.Options{Store: x.s, Clock: time.Now, Bucket: x.bucket})
	x.ann = storetest.User(t, x.s, "ann")
	x.memory = storetest.Add(t, x.s, x.ann, "", "A memory with files").ID
	return x
}

func folderIn(t *testing.T) func(dir string) blob.Bucket {
	return func(dir string) blob.Bucket {
		t.Helper()
		b, err := blob.OpenFolder(filepath.Join(dir, "files"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

// upload uploads a file, and confirms it if confirm is set.
func (x *fileServer) upload(text string, confirm bool) loci.ID {
	x.Helper()
	out, err := x.svc.UploadAttachment(x.Context(), x.ann, loci.UploadAttachment{MemoryID: x.memory, FileName: "a.txt",
		Size: loci.FileSize(len(text)), MIMEType: "text/plain"})
	a := out.Attachment
	if err == nil {
		err = x.svc.StoreUpload(x.Context(), blob.Address{Method: blob.MethodPut, ID: a.ID, Size: a.Size,
			Type: a.MIMEType}, strings.NewReader(text))
	}
	if err == nil && confirm {
		_, err = x.svc.ConfirmAttachment(x.Context(), x.ann, loci.GetAttachment{AttachmentID: a.ID})
	}
	if err != nil {
		x.Fatal(err)
	}
	return a.ID
}

// replace replaces the object of an attachment. Without a text it deletes it.
func replace(t *testing.T, b blob.Bucket, id loci.ID, text string) {
	t.Helper()
	err := b.Delete(t.Context(), id)
	if err == nil && text != "" {
		err = b.Put(t.Context(), id, strings.NewReader(text), int64(len(text)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a backup.
func (x *fileServer) write(bucket blob.Bucket) ([]byte, backup.Manifest, error) {
	var archive bytes.Buffer
	m, err := backup.Source{Data: x.dir, OpenBucket: func(string) (blob.Bucket, error) { return bucket, nil }}.Write(
		x.Context(), "-", false, &archive, noProgress)
	return archive.Bytes(), m, err
}

func noProgress(int64, int64) {}

func noLock() (func(), error) { return func() {}, nil }

func restore(t *testing.T, dir string, bucket blob.Bucket, archive []byte) (backup.Result, error) {
	return backup.Restore(t.Context(), dir, bucket, noLock, bytes.NewReader(archive), noProgress)
}

// objects returns the contents of a bucket by id.
func objects(t *testing.T, b blob.Bucket) map[loci.ID]string {
	t.Helper()
	all := map[loci.ID]string{}
	for o, err := range b.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.Open(t.Context(), o.ID)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		all[o.ID] = string(text)
	}
	return all
}

func testBackup(t *testing.T, open func(dir string) blob.Bucket) {
	x := newFileServer(t, open)
	first, empty := x.upload("first", true), x.upload("", true)
	missing, damaged, short := x.upload("missing", true), x.upload("damaged", true), x.upload("short", true)
	last := x.upload("last", true)
	x.upload("pending", false)
	replace(t, x.bucket, missing, "")
	replace(t, x.bucket, damaged, "Damaged")
	replace(t, x.bucket, short, "s")
	d := storetest.Database{Dir: x.dir}
	d.Exec(t, `INSERT INTO jobs (kind, subject, due, attempts, error, created_at)
		VALUES ('delete_object', '`+string(first)+`', 1, 0, '', 1), ('delete_object', 'other', 1, 0, '', 1)`)
	d.Write(t, `INSERT INTO metadata (name, value) VALUES ('settings', '{"blobs":"s3://other","plan":"pro"}')`)
	d.Write(t, `INSERT INTO metadata (name, value) VALUES ('file_secrets', '[]') ON CONFLICT DO NOTHING`)

	archive, m, err := x.write(x.bucket)
	if err != nil {
		t.Fatal(err)
	}
	verified, err := backup.Verify(t.Context(), bytes.NewReader(archive), noProgress)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to := folderIn(t)(dir)
	restored, err := restore(t, dir, to, archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []*backup.Attachments{m.Attachments, verified.Attachments, restored.Attachments} {
		if a == nil || a.Count != 4 || a.Bytes != 16 || !slices.Equal(a.Missing, []loci.ID{missing, short}) ||
			!slices.Equal(a.Damaged, []loci.ID{damaged}) {
			t.Errorf("%+v", a)
		}
	}
	if got := objects(t, to); len(got) != 3 || got[first] != "first" || got[last] != "last" || got[empty] != "" {
		t.Errorf("%v", got)
	}
	d = storetest.Database{Dir: dir}
	if jobs, rows := d.Query(t, `SELECT subject FROM jobs WHERE kind = 'delete_object'`), d.Query(t, `SELECT name ||
		value FROM metadata WHERE name IN ('settings', 'file_secrets')`); !slices.Equal(jobs, []string{"other"}) ||
		!slices.Equal(rows, []string{`settings{"plan":"pro"}`}) {
		t.Errorf("jobs %q, metadata %q", jobs, rows)
	}

	// Again, where the files of a restore that was killed are.
	if err := os.Remove(filepath.Join(dir, "loci.db")); err != nil {
		t.Fatal(err)
	}
	replace(t, to, last, "")
	if _, err := restore(t, dir, to, archive); err != nil || objects(t, to)[last] != "last" {
		t.Errorf("the second restore: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "loci.db")); err != nil {
		t.Fatal(err)
	}
	replace(t, to, first, "")
	replace(t, to, last, "LAST")
	if _, err := restore(t, dir, to, archive); !loci.Is(err, loci.CodeConflict) ||
		!strings.Contains(err.Error(), string(last)) {
		t.Errorf("a file with other content: %v", err)
	}
	if got := objects(t, to); len(got) != 2 || got[last] != "LAST" {
		t.Errorf("after a restore that failed: %v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "loci.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a restore that failed made a database: %v", err)
	}
}

func TestBackupHoldsFilesOfFolder(t *testing.T) {
	t.Parallel()
	testBackup(t, folderIn(t))
}

func TestBackupHoldsFilesOfBucket(t *testing.T) {
	t.Parallel()
	testBackup(t, func(string) blob.Bucket {
		b, err := blob.OpenS3(blobtest.NewBucket(t), blobtest.Keys)
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}

func TestDamagedFilesOfArchiveAreRejected(t *testing.T) {
	t.Parallel()
	x := newFileServer(t, folderIn(t))
	text := strings.Repeat("a file of some length ", 100)
	x.upload(text, true)
	x.upload(text, true)
	archive, _, err := x.write(x.bucket)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(archive, []byte(text))
	flipped := bytes.Clone(archive)
	flipped[at] ^= 1
	for name, bad := range map[string][]byte{"flipped": flipped, "cut off in a file": archive[:at+50],
		"cut off after a file": archive[:at-512], "without summary": archive[:bytes.LastIndex(archive,
			[]byte("files.json"))]} {
		if _, err := backup.Verify(t.Context(), bytes.NewReader(bad), noProgress); err == nil ||
			!strings.Contains(err.Error(), "the backup is damaged") {
			t.Errorf("%s: %v", name, err)
		}
		dir := t.TempDir()
		to := folderIn(t)(dir)
		if _, err := restore(t, dir, to, bad); err == nil || len(objects(t, to)) > 0 {
			t.Errorf("%s: restored %v, %v", name, objects(t, to), err)
		}
	}
}

// An intercepted bucket calls a function before an object is opened.
type interceptedBucket struct {
	blob.Bucket
	before func(id loci.ID) error
}

func (b interceptedBucket) Open(ctx context.Context, id loci.ID) (blob.Reader, error) {
	if err := b.before(id); err != nil {
		return nil, err
	}
	return b.Bucket.Open(ctx, id)
}

func TestBackupSurvivesDeletionsAndNamesFailures(t *testing.T) {
	t.Parallel()
	x := newFileServer(t, folderIn(t))
	first, second := x.upload("first", true), x.upload("second", true)
	_, m, err := x.write(interceptedBucket{x.bucket, func(loci.ID) error {
		return x.bucket.Delete(t.Context(), second)
	}})
	if err != nil || m.Attachments.Count != 1 || !slices.Equal(m.Attachments.Missing, []loci.ID{second}) {
		t.Errorf("%+v, %v, with %s", m.Attachments, err, first)
	}
	_, _, err = x.write(interceptedBucket{x.bucket, func(loci.ID) error { return errors.New("the bucket is away") }})
	if !loci.Is(err, loci.CodeUnavailable) || !strings.Contains(err.Error(), "the bucket is away") {
		t.Error(err)
	}
}

// A restored database that was killed as it appeared is not compared with the commits of a former one. It replaces no
// database that was made meanwhile.
func TestRestoreForgetsFormerCommitsFirst(t *testing.T) {
	t.Parallel()
	x := newFileServer(t, folderIn(t))
	archive, _, err := x.write(x.bucket)
	dir := t.TempDir()
	former, readErr := os.ReadFile(filepath.Join(x.dir, sqlite.MarkerName))
	marker := filepath.Join(dir, sqlite.MarkerName)
	if err := errors.Join(err, readErr, os.WriteFile(marker, former, 0o600)); err != nil {
		t.Fatal(err)
	}
	blocked := func() (func(), error) { return func() {}, os.MkdirAll(filepath.Join(dir, sqlite.FileName, "x"), 0o700) }
	if _, err := backup.Restore(t.Context(), dir, folderIn(t)(dir), blocked, bytes.NewReader(archive),
		noProgress); err == nil {
		t.Fatal("the database appeared")
	}
	text, count, found := strings.Cut(string(former), "Commits: ")
	if got, err := os.ReadFile(marker); err != nil || !found || count == "" || string(got) != text {
		t.Errorf("the marker is %q, %v", got, err)
	}
}
