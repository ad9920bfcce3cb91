package integrity_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/store/erasedb"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A failingBucket deletes nothing while an error is set.
type failingBucket struct {
	blob.Bucket
	err error
}

func (b *failingBucket) Delete(ctx context.Context, id loci.ID) error {
	if b.err != nil {
		return b.err
	}
	return b.Bucket.Delete(ctx, id)
}

// A fileTest has a memory of a team and a personal one of ann, both with an active and a pending attachment, and one of
// bob without any.
type fileTest struct {
	t        *testing.T
	d        storetest.Database
	s        *store.Store
	service  *service.Service
	bucket   *failingBucket
	ann, bob *identity.Actor
	crew     loci.ID
	memories []loci.Memory // of the team, of ann, of bob
	active   []loci.ID
}

func newFileTest(t *testing.T, d storetest.Database) *fileTest {
	t.Helper()
	return newFileTestIn(t, d, d.Open(t, store.Options{}), "")
}

// newFileTestIn adds a name to those of ann and bob.
func newFileTestIn(t *testing.T, d storetest.Database, s *store.Store, name string) *fileTest {
	t.Helper()
	folder := testenv.Must(blob.OpenFolder(t.TempDir()))(t)
	x := &fileTest{t: t, d: d, s: s, bucket: &failingBucket{Bucket: folder}, ann: user(t, s, "ann"+name),
		bob: user(t, s, "bob"+name)}
	x.service = service.New(service.Options{Store: s, Clock: time.Now, Bucket: x.bucket})
	x.crew = team(t, s, x.bob, map[*identity.Actor]loci.Role{x.ann: loci.RoleMember})
	x.memories = []loci.Memory{add(t, s, x.bob, x.crew, "Of the team"), add(t, s, x.ann, "", "Of ann"),
		add(t, s, x.bob, "", "Without files")}
	for i, actor := range []*identity.Actor{x.bob, x.ann} {
		stored := x.upload(actor, x.memories[i].ID)
		testenv.Must(x.service.ConfirmAttachment(ctx, withEncryptionKey(actor, "confirm"),
			loci.GetAttachment{AttachmentID: stored}))(t)
		testenv.Must(x.service.DownloadAttachment(ctx, withEncryptionKey(actor, "download"),
			loci.GetAttachment{AttachmentID: stored}))(t)
		x.active = append(x.active, stored)
		x.upload(actor, x.memories[i].ID)
	}
	return x
}

// upload uploads a file of a memory, which stays pending.
func (x *fileTest) upload(actor *identity.Actor, memory loci.ID) loci.ID {
	x.t.Helper()
	a := testenv.Must(x.service.UploadAttachment(ctx, actor, loci.UploadAttachment{MemoryID: memory,
		FileName: "a.txt", Size: 5,
		MIMEType: "text/plain"}))(x.t).Attachment
	testenv.NoError(x.t, x.service.StoreUpload(ctx,
		blob.Address{Method: blob.MethodPut, ID: a.ID, Size: a.Size, Type: a.MIMEType}, strings.NewReader("hello")))
	return a.ID
}

// objects returns the ids of all objects.
func (x *fileTest) objects() (ids []loci.ID) {
	x.t.Helper()
	for o, err := range x.bucket.List(ctx) {
		if err != nil {
			x.t.Fatal(err)
		}
		ids = append(ids, o.ID)
	}
	return ids
}

// count returns the number of rows of a table.
func (x *fileTest) count(table string) string {
	x.t.Helper()
	return x.d.Query(x.t, `SELECT CAST(count(*) AS TEXT) FROM `+table)[0]
}

// runJobs runs the jobs of deletions, as a server does.
func (x *fileTest) runJobs() {
	x.t.Helper()
	for _, kind := range []string{erasedb.AtlasJob, erasedb.WorkspaceJob, memorydb.DeleteObjectJob} {
		testenv.NoError(x.t, x.s.Jobs().RunNow(ctx, kind))
	}
}

// Each path that deletes attachments deletes their objects and the stored responses that show them. A purge has deleted
// the objects when it returns.
func TestDeletionsDeleteObjects(t *testing.T) {
	t.Parallel()
	both := func(f func(x *fileTest, i int, actor *identity.Actor)) func(x *fileTest) {
		return func(x *fileTest) { f(x, 0, x.bob); f(x, 1, x.ann) }
	}
	deleteMemory := both(func(x *fileTest, i int, actor *identity.Actor) {
		testenv.Must(x.service.DeleteMemory(ctx, actor, loci.DeleteMemory{MemoryID: x.memories[i].ID}))(x.t)
	})
	expect := func(did purge.Result, err error) func(x *fileTest, attachments int64) {
		return func(x *fileTest, attachments int64) {
			x.t.Helper()
			if err != nil || did.Attachments != attachments {
				x.t.Errorf("purged %v, %v", did, err)
			}
		}
	}
	deletePlaces := func(x *fileTest) {
		testenv.Must(x.service.DeleteAtlas(ctx, x.bob, loci.DeleteAtlas{AtlasID: x.memories[0].AtlasID}))(x.t)
		testenv.Must(x.service.DeleteWorkspace(ctx, x.bob, loci.DeleteWorkspace{WorkspaceID: x.crew}))(x.t)
		testenv.Must(x.service.DeleteUser(ctx, loci.Email(x.ann.Email), false))(x.t)
	}
	for name, path := range map[string]struct {
		do    func(x *fileTest)
		purge bool
	}{
		"attachments": {do: both(func(x *fileTest, _ int, actor *identity.Actor) {
			testenv.Must(x.service.DeleteAttachments(ctx, actor,
				loci.DeleteAttachments{AttachmentIDs: x.objects()}))(x.t)
		})},
		"memories":                     {do: deleteMemory},
		"atlas, workspace and account": {do: deletePlaces},
		"uploads": {do: func(x *fileTest) {
			x.d.Exec(x.t, `UPDATE attachments SET active = FALSE, created_at = 1`)
			testenv.Must(store.System(ctx, x.s, "test", func(t *store.SystemTx) (loci.Empty, error) {
				return loci.Empty{}, attachmentdb.DeleteExpiredUploads(t)
			}))(x.t)
		}},
		"purge of memories": {purge: true, do: both(func(x *fileTest, i int, _ *identity.Actor) {
			would, err := purge.New(x.s).PurgeMemory(ctx, x.memories[i].ID, false)
			if err != nil || would.Attachments != 2 || !strings.Contains(would.String(), "2 attachments") {
				x.t.Errorf("would purge %v, %v", would, err)
			}
			expect(purge.New(x.s).PurgeMemory(ctx, x.memories[i].ID, true))(x, 2)
		})},
		"purge of workspace and user": {purge: true, do: func(x *fileTest) {
			expect(purge.New(x.s).PurgeWorkspace(ctx, x.crew, true))(x, 2)
			expect(purge.New(x.s).PurgeUser(ctx, loci.Email(x.ann.Email), true))(x, 2)
		}},
		"purge of deleted memories": {purge: true, do: func(x *fileTest) {
			deleteMemory(x)
			expect(purge.New(x.s).PurgeDeleted(ctx, true))(x, 0)
		}},
		"purge of deleted workspaces": {purge: true, do: func(x *fileTest) {
			deletePlaces(x)
			expect(purge.New(x.s).PurgeDeleted(ctx, true))(x, 2)
		}},
		"purge after a failure": {purge: true, do: func(x *fileTest) {
			deleteMemory(x)
			x.bucket.err = errors.New("the bucket is away")
			_, err := purge.New(x.s).PurgeDeleted(ctx, true)
			if !loci.Is(err, loci.CodeUnavailable) || !strings.Contains(err.Error(), "the bucket is away") ||
				x.count("jobs") == "0" || len(x.objects()) != 4 {
				x.t.Errorf("%v, %s jobs, %v", err, x.count("jobs"), x.objects())
			}
			x.bucket.err = nil
			expect(purge.New(x.s).PurgeDeleted(ctx, true))(x, 0)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, d storetest.Database) {
				x := newFileTest(t, d)
				testenv.RequireEqual(t, len(x.objects()), 4, "objects")
				path.do(x)
				if !path.purge {
					x.runJobs()
				}
				if list, rows, jobs := x.objects(), x.count("attachments"), x.count(`jobs WHERE kind = '`+
					memorydb.DeleteObjectJob+`'`); len(list) > 0 || rows != "0" || jobs != "0" {
					t.Errorf("%d objects, %s rows and %s jobs are left", len(list), rows, jobs)
				}
				for _, id := range x.active {
					testenv.Equal(t, x.count(`idempotency_records WHERE record = '`+string(id)+`'`), "0",
						"stored responses show a deleted attachment")
				}
			})
		})
	}
}
