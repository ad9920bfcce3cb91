package file_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/blob/blobtest"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// errKilled is the error of a step during which the process is killed.
var errKilled = errors.New("killed")

// A killedBucket does the next call, and then the process is killed.
type killedBucket struct {
	blob.Bucket
	kill bool
}

func (b *killedBucket) Put(ctx context.Context, id loci.ID, body io.Reader, size int64) error {
	err := b.Bucket.Put(ctx, id, body, size)
	if b.kill && err == nil {
		return errKilled
	}
	return err
}

func (b *killedBucket) Delete(ctx context.Context, id loci.ID) error {
	err := b.Bucket.Delete(ctx, id)
	if b.kill && err == nil {
		return errKilled
	}
	return err
}

// A modelFile is a file by the rules of the contract.
type modelFile struct {
	memory    loci.ID
	text      string
	stored    bool
	active    bool
	deleted   bool
	announced time.Time
}

// A fileModel is a user with memories and files, and the server that keeps them.
type fileModel struct {
	t      *rapid.T
	d      storetest.Database
	bucket *killedBucket
	clock  *Clock
	actor  identity.Actor

	store    *store.Store
	svc      *service.Service
	memories map[loci.ID]string // the texts of those that are not deleted
	files    map[loci.ID]*modelFile
	latest   time.Time
}

// open starts a server.
func (m *fileModel) open() {
	var err error
	if m.store, err = m.d.TryOpen(store.Options{Clock: m.clock.Now}); err != nil {
		m.t.Fatal(err)
	}
	m.svc = service.New(service.Options{Store: m.store, Clock: m.clock.Now, PublicURL: "http://localhost",
		Bucket: m.bucket, UsedOperations: func(context.Context, *identity.Actor) (int64, time.Time, error) {
			return 0, m.clock.Now(), nil
		}})
}

// restart ends the server, with or without the jobs that are due, and starts it again.
func (m *fileModel) restart(jobs bool) {
	if jobs {
		m.store.Jobs().Start(context.Background())
	}
	m.store.Close()
	m.open()
}

// attempt calls a method of the service, and returns its code.
func attempt[In, Out any](m *fileModel, f func(*service.Service, context.Context, *identity.Actor, In) (Out, error),
	in In) (Out, loci.Code) {
	actor := m.actor
	out, err := f(m.svc, context.Background(), &actor, in)
	if err == nil {
		return out, ""
	}
	return out, loci.AsError(err).Code
}

func (m *fileModel) expect(what string, got loci.Code, want ...loci.Code) {
	if !slices.Contains(want, got) {
		m.t.Fatalf("%s: %q, want one of %q", what, got, want)
	}
}

// hasExpired reports whether an upload is not confirmed in time.
func (m *fileModel) hasExpired(f *modelFile) bool {
	return !f.active && !m.clock.Now().Before(f.announced.Add(loci.UploadLifetime))
}

// isGone reports whether nobody reaches a file any more.
func (m *fileModel) isGone(f *modelFile) bool { return f.deleted || m.hasExpired(f) }

// pickFrom draws a key of a map in order, so that a run can be repeated.
func pickFrom[V any](m *fileModel, from map[loci.ID]V, what string) (id loci.ID) {
	if ids := slices.Sorted(maps.Keys(from)); len(ids) > 0 {
		id = ids[rapid.IntRange(0, len(ids)-1).Draw(m.t, what)]
	}
	return id
}

func (m *fileModel) announce() {
	memory := pickFrom(m, m.memories, "memory")
	pending := 0
	for _, f := range m.files {
		if !f.active && !m.isGone(f) {
			pending++
		}
	}
	text := strings.Repeat("x", rapid.IntRange(0, 40).Draw(m.t, "size")) + fmt.Sprint(len(m.files))
	at := m.clock.Now()
	up, code := attempt(m, (*service.Service).UploadAttachment, loci.UploadAttachment{MemoryID: memory, FileName: "f",
		Size: loci.FileSize(len(text)), MIMEType: "text/plain"})
	switch {
	case m.memories[memory] == "":
		m.expect("upload", code, loci.CodeNotFound)
	case pending >= loci.MaxPendingUploads:
		m.expect("upload", code, loci.CodeStateConflict)
	default:
		m.expect("upload", code, "")
		m.files[up.Attachment.ID] = &modelFile{memory: memory, text: text, announced: at}
	}
}

func (m *fileModel) put() {
	id := pickFrom(m, m.files, "file")
	f := m.files[id]
	if f == nil {
		return
	}
	m.bucket.kill = rapid.IntRange(0, 4).Draw(m.t, "kill") == 0
	body, want := f.text, loci.Code("")
	if rapid.IntRange(0, 4).Draw(m.t, "wrong") == 0 {
		body, want = body+"!", loci.CodeForbidden
	}
	err := m.svc.StoreUpload(context.Background(), blob.Address{ID: id, Size: int64(len(f.text)), Type: "text/plain"},
		strings.NewReader(body))
	code := loci.Code("")
	if err != nil {
		code = loci.AsError(err).Code
	}
	switch {
	case m.isGone(f):
		m.expect("put", code, loci.CodeNotFound)
	case f.stored: // a bucket may see the wrong length first
		m.expect("put", code, loci.CodeStateConflict, cmp.Or(want, loci.CodeStateConflict))
	case want == "" && m.bucket.kill:
		m.expect("put", code, loci.CodeUnavailable)
		f.stored = true
	default:
		m.expect("put", code, want)
		f.stored = want == ""
	}
	if m.bucket.kill {
		m.restart(false)
	}
	m.bucket.kill = false
}

func (m *fileModel) confirm() {
	id := pickFrom(m, m.files, "file")
	_, code := attempt(m, (*service.Service).ConfirmAttachment, loci.GetAttachment{AttachmentID: id})
	f := m.files[id]
	switch {
	case f == nil || m.isGone(f):
		m.expect("confirm", code, loci.CodeNotFound)
	case !f.stored:
		m.expect("confirm", code, loci.CodeUploadMissing)
	default:
		m.expect("confirm", code, "")
		f.active = true
	}
}

func (m *fileModel) get() {
	id := pickFrom(m, m.files, "file")
	f := m.files[id]
	_, code := attempt(m, (*service.Service).DownloadAttachment, loci.GetAttachment{AttachmentID: id})
	_, r, err := m.svc.OpenDownload(context.Background(), id)
	if f == nil || m.isGone(f) || !f.active {
		m.expect("download", code, loci.CodeNotFound)
		m.expect("open", loci.AsError(err).Code, loci.CodeNotFound)
		return
	}
	m.expect("download", code, "")
	if err != nil {
		m.t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); string(b) != f.text || err != nil {
		m.t.Fatalf("%q, %v", b, err)
	}
}

func (m *fileModel) delete() {
	ids := loci.BulkIDs{pickFrom(m, m.files, "file"), pickFrom(m, m.files, "file")}
	out, code := attempt(m, (*service.Service).DeleteAttachments, loci.DeleteAttachments{AttachmentIDs: ids})
	m.expect("delete", code, "")
	for i, id := range ids {
		f := m.files[id]
		if gone := f == nil || m.isGone(f); out.Results[i].OK == gone {
			m.t.Fatalf("delete: %+v", out.Results)
		} else if !gone {
			f.deleted = true
		}
	}
}

func (m *fileModel) deleteMemory() {
	id := pickFrom(m, m.memories, "memory")
	if _, code := attempt(m, (*service.Service).DeleteMemory, loci.DeleteMemory{MemoryID: id}); id != "" {
		m.expect("delete memory", code, "")
	}
	delete(m.memories, id)
	for _, f := range m.files {
		f.deleted = f.deleted || f.memory == id
	}
}

func (m *fileModel) addMemory() {
	text := fmt.Sprint("memory ", len(m.memories), len(m.files))
	out, code := attempt(m, (*service.Service).CreateMemory, loci.CreateMemory{Content: loci.Content(text)})
	m.expect("create memory", code, "")
	m.memories[out.Memory.ID] = text
}

// sweep deletes expired uploads, as the hourly job does.
func (m *fileModel) sweep() {
	testenv.Must(store.System(context.Background(), m.store, "test", func(x *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, attachmentdb.DeleteExpiredUploads(x)
	}))(m.t)
	for _, f := range m.files {
		f.deleted = f.deleted || m.hasExpired(f)
	}
}

// step draws an action, and does it.
func (m *fileModel) step() {
	switch rapid.IntRange(0, 15).Draw(m.t, "step") {
	case 0, 1, 2:
		m.announce()
	case 3, 4, 5:
		m.put()
	case 6, 7, 8:
		m.confirm()
	case 9:
		m.get()
	case 10:
		m.delete()
	case 11:
		m.deleteMemory()
	case 12:
		m.addMemory()
	case 13:
		m.clock.Advance(time.Duration(rapid.IntRange(-10, 20).Draw(m.t, "hours")) * time.Hour)
	case 14:
		m.sweep()
	case 15:
		m.bucket.kill = rapid.Bool().Draw(m.t, "kill")
		m.restart(rapid.Bool().Draw(m.t, "jobs"))
		m.bucket.kill = false
	}
	if now := m.clock.Now(); now.After(m.latest) {
		m.latest = now
	}
}

// finish ends all uploads and runs all jobs.
func (m *fileModel) finish() {
	m.clock.Advance(m.latest.Sub(m.clock.Now()) + loci.UploadLifetime + time.Hour)
	m.sweep()
	m.store.Jobs().Start(context.Background())
	waittest.Until(m.t, func() bool {
		n := testenv.Must(store.SystemRead(context.Background(), m.store, "test", (*store.SystemTx).JobStats))(m.t)
		return len(n) == 0
	})
}

// check compares rows, objects and quota with the model.
func (m *fileModel) check(t testing.TB) {
	want, bytes := []loci.ID{}, int64(0)
	shown := map[loci.ID][]loci.ID{}
	for id, f := range m.files {
		if f.active && !f.deleted {
			want, bytes = append(want, id), bytes+int64(len(f.text))
			shown[f.memory] = append(shown[f.memory], id)
		}
	}
	slices.Sort(want)
	got := objects(t, m.bucket)
	if mine := slices.DeleteFunc(got, func(id loci.ID) bool { return m.files[id] == nil }); !slices.Equal(mine, want) {
		m.t.Fatalf("the objects are %v, want %v", mine, want)
	}
	for id, text := range m.memories {
		bytes += int64(len(text))
		detail, code := attempt(m, (*service.Service).GetMemory, loci.GetMemory{MemoryID: id})
		m.expect("get memory", code, "")
		ids := []loci.ID{}
		for _, a := range detail.Attachments {
			ids = append(ids, a.ID)
		}
		if slices.Sort(ids); !slices.Equal(ids, slices.Sorted(slices.Values(shown[id]))) {
			m.t.Fatalf("the memory shows %v, want %v", ids, shown[id])
		}
	}
	status, code := attempt(m, (*service.Service).Status, loci.Empty{})
	if m.expect("status", code, ""); status.Usage.Storage.UsedBytes != bytes {
		m.t.Fatalf("%d bytes are counted, want %d", status.Usage.Storage.UsedBytes, bytes)
	}
}

// Objects, rows and quota agree in the end, whatever happens to files, also between the steps of a killed server.
func TestFilesAgreeWithModelAfterKills(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		checkFileModel(t, d, testenv.Must(blob.OpenFolder(t.TempDir()))(t), 40)
	})
}

func TestFilesInBucketOfS3AgreeWithModelAfterKills(t *testing.T) {
	t.Parallel()
	bucket := testenv.Must(blob.OpenS3(blobtest.NewBucket(t), blobtest.Keys))(t)
	checkFileModel(t, storetest.Database{Dir: storetest.NewDir(t)}, bucket, 15)
}

// checkFileModel compares runs of random steps with the model.
func checkFileModel(t *testing.T, d storetest.Database, bucket blob.Bucket, steps int) {
	t.Helper()
	users := 0
	d.Check(t, func(rt *rapid.T) {
		m := &fileModel{t: rt, d: d, bucket: &killedBucket{Bucket: bucket}, clock: &Clock{},
			memories: map[loci.ID]string{}, files: map[loci.ID]*modelFile{}}
		m.open()
		defer func() { m.store.Close() }()
		users++
		u := testenv.Must(m.svc.EnsureUser(context.Background(), loci.Email(fmt.Sprintf("u%d@example.com", users))))(rt)
		m.actor = identity.Actor{UserID: u.ID, Email: u.Email, CredentialKind: identity.CredentialLocal,
			CredentialID: u.ID, Plan: identity.DefaultPlans[loci.PlanSelfHosted]}
		m.addMemory()
		for range rapid.IntRange(1, steps).Draw(rt, "steps") {
			m.step()
		}
		m.finish()
		m.check(t)
	})
	storetest.CheckHealthy(t, d.Open(t, store.Options{}))
}
