package file_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/service/file"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

func TestFileOfMemoryFromAnnouncementToDeletion(t *testing.T) {
	t.Parallel()
	bucket := newFolder(t)
	Each(t, Options{Bucket: bucket}, func(t *testing.T, w *World) {
		bucket := startWithFolder(t, w)
		m := w.Memory(t, w.Atlas(t, "Shelf"), "with a file")
		plain, before := MustCall(t, w, CallerOwner, service.MemoryGet, loci.GetMemory{MemoryID: m}),
			usedBytes(t, w)
		text := "<html><script>alert(1)</script></html>"
		up := announce(t, w, CallerOwner, m, text)
		a := up.Attachment
		if a.Status != loci.AttachmentPending || up.Method != "PUT" || up.Headers["Content-Type"] != "text/plain" ||
			!strings.HasPrefix(up.UploadURL, "http://localhost"+file.ObjectsPath+string(a.ID)+"?") {
			t.Errorf("%+v", up)
		}
		MustFail(t, w, CallerOwner, service.AttachmentDownload, loci.GetAttachment{AttachmentID: a.ID},
			loci.CodeNotFound)
		MustFail(t, w, CallerOwner, service.AttachmentConfirm, loci.GetAttachment{AttachmentID: a.ID},
			loci.CodeUploadMissing)
		testenv.Equal(t, len(attachmentsOf(t, w, m))+int(usedBytes(t, w)-before), 0,
			"a pending upload is shown or counted")
		testenv.NoError(t, put(w, a, text))
		Expect(t, "a second upload", put(w, a, text), loci.CodeStateConflict)
		done := confirm(t, w, a.ID)
		if done.Status != loci.AttachmentActive || done.SHA256 != sum(text) || done.Size != int64(len(text)) ||
			!strings.HasPrefix(done.MIMEType, "text/html") || done.CreatedBy != w.Ann.ID {
			t.Errorf("%+v", done)
		}
		testenv.Equal(t, confirm(t, w, a.ID), done, "a repeated confirmation answers")
		shown := MustCall(t, w, CallerOwner, service.MemoryGet, loci.GetMemory{MemoryID: m})
		if len(shown.Attachments) != 1 || shown.Attachments[0] != done || shown.Version != plain.Version {
			t.Errorf("the memory shows %+v", shown)
		}
		testenv.Equal(t, usedBytes(t, w)-before, done.Size, "bytes are counted")
		if _, r, err := w.Service.OpenDownload(t.Context(), a.ID); err != nil {
			t.Error(err)
		} else if b, _ := io.ReadAll(r); string(b) != text {
			t.Errorf("the download is %q", b)
		}
		out := MustCall(t, w, CallerOwner, service.AttachmentDelete,
			loci.DeleteAttachments{AttachmentIDs: loci.BulkIDs{a.ID, "nonsense", a.ID}})
		want := fmt.Sprintf("[{%s true } {nonsense false not_found} {%[1]s false not_found}]", a.ID)
		testenv.Equal(t, fmt.Sprint(out.Results), want)
		if _, _, err := w.Service.OpenDownload(t.Context(), a.ID); !loci.Is(err, loci.CodeNotFound) {
			t.Errorf("the download of a deleted file: %v", err)
		}
		waitForObjects(t, bucket)
		if usedBytes(t, w) != before || len(attachmentsOf(t, w, m)) != 0 {
			t.Error("a deleted file is counted or shown")
		}
	})
}

// The entity tag changes with the files, and a change needs the present one.
func TestEntityTagFollowsAttachments(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		m := w.Memory(t, w.Atlas(t, "Shelf"), "with files")
		tag := func() string {
			c := w.Call(CallerOwner)
			testenv.Must(op.Do(t.Context(), w.Host, c, service.MemoryGet, loci.GetMemory{MemoryID: m}))(t)
			return c.ETag
		}
		tags := map[string]bool{tag(): true}
		a := attach(t, w, m, "one")
		tags[tag()] = true
		attach(t, w, m, "two")
		tags[tag()] = true
		testenv.Len(t, tags, 3, "different tags")
		content := loci.Content("changed")
		change := loci.UpdateMemory{MemoryID: m, Content: &content}
		now := tag()
		for given := range tags {
			_, err := CallIfMatch(t, w, CallerOwner, given, service.MemoryUpdate, change)
			if given != now && !loci.Is(err, loci.CodeVersionConflict) || given == now && err != nil {
				t.Errorf("a change by the tag %s, which is now %s: %v", given, now, err)
			}
		}
		now = tag()
		MustCall(t, w, CallerOwner, service.AttachmentDelete,
			loci.DeleteAttachments{AttachmentIDs: loci.BulkIDs{a.ID}})
		if tag() == now {
			t.Error("the tag does not change with a deletion")
		}
	})
}

func TestObjectThatDiffersFromAnnouncementIsDeleted(t *testing.T) {
	t.Parallel()
	bucket := newFolder(t)
	w := New(t, OpenSQLite, Options{Bucket: bucket})
	w.Store.Jobs().Start(t.Context())
	m := w.Memory(t, w.Atlas(t, "Shelf"), "with a file")
	announce := func(size loci.FileSize, sum string) loci.ID {
		return MustCall(t, w, CallerOwner, service.AttachmentUpload, loci.UploadAttachment{MemoryID: m, FileName: "a",
			Size: size, MIMEType: "text/plain", SHA256: loci.SHA256(sum)}).Attachment.ID
	}
	for name, object := range map[string]struct {
		size      loci.FileSize
		sum, text string
	}{"another checksum": {5, sum("other"), "hello"}, "longer": {3, "", "hello"}, "shorter": {9, "", "hello"}} {
		id := announce(object.size, object.sum)
		// A client with an address of the bucket writes what the bucket lets it.
		testenv.NoError(t, bucket.Put(t.Context(), id, strings.NewReader(object.text), int64(len(object.text))))
		MustFail(t, w, CallerOwner, service.AttachmentConfirm, loci.GetAttachment{AttachmentID: id},
			loci.CodeStateConflict)
		MustFail(t, w, CallerOwner, service.AttachmentConfirm, loci.GetAttachment{AttachmentID: id}, loci.CodeNotFound)
		waitForObjects(t, bucket)
		testenv.Len(t, attachmentsOf(t, w, m), 0, name, "attachments")
	}
	id := announce(5, sum("hello"))
	testenv.NoError(t, bucket.Put(t.Context(), id, strings.NewReader("hello"), 5))
	testenv.Equal(t, confirm(t, w, id).SHA256, sum("hello"))
}

func TestUploadOfAnotherLengthStoresNothing(t *testing.T) {
	t.Parallel()
	bucket := newFolder(t)
	w := New(t, OpenSQLite, Options{Bucket: bucket})
	m := w.Memory(t, w.Atlas(t, "Shelf"), "with a file")
	a := announce(t, w, CallerOwner, m, "hello").Attachment
	for _, text := range []string{"", "hell", "hello!", strings.Repeat("x", 1<<20)} {
		if err := put(w, a, text); !loci.Is(err, loci.CodeForbidden) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	broken := io.MultiReader(strings.NewReader("he"), file.Body{Reader: errorReader{errors.New("reset by peer")}})
	err := w.Service.StoreUpload(t.Context(), blob.Address{ID: a.ID, Size: 5, Type: "text/plain"}, broken)
	Expect(t, "a broken connection", err, loci.CodeInvalidQuery)
	testenv.Len(t, objects(t, bucket), 0, "objects")
	testenv.NoError(t, put(w, a, "hello"))
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

func TestUploadsAreLimited(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		m, other := w.Memory(t, w.Atlas(t, "Shelf"), "one"), w.Memory(t, w.Atlas(t, "Shelf"), "two")
		var first loci.Attachment
		for i := range loci.MaxPendingUploads {
			if a := announce(t, w, CallerOwner, []loci.ID{m, other}[i%2], "x").Attachment; i == 0 {
				first = a
			}
		}
		up := loci.UploadAttachment{MemoryID: m, FileName: "a", Size: 1, MIMEType: "text/plain"}
		MustFail(t, w, CallerOwner, service.AttachmentUpload, up, loci.CodeStateConflict)
		MustCall(t, w, CallerAdmin, service.AttachmentUpload, up) // another user
		testenv.NoError(t, put(w, first, "x"))
		confirm(t, w, first.ID)
		MustCall(t, w, CallerOwner, service.AttachmentUpload, up)
		w.Clock.Advance(loci.UploadLifetime + time.Second)
		for range loci.MaxPendingUploads { // the others have expired
			MustCall(t, w, CallerOwner, service.AttachmentUpload, up)
		}
		testenv.Must(store.System(t.Context(), w.Store, "test", func(x *store.SystemTx) (loci.Empty, error) {
			return loci.Empty{}, attachmentdb.DeleteExpiredUploads(x)
		}))(t)
		if got := attachmentsOf(t, w, m); len(got) != 1 || got[0] != first.ID {
			t.Errorf("the memory shows %v", got)
		}
	})
}

func TestMemoryHasAtMost100Attachments(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	m := w.Memory(t, w.Atlas(t, "Shelf"), "with many files")
	for range loci.MaxAttachments {
		attach(t, w, m, "x")
	}
	MustFail(t, w, CallerOwner, service.AttachmentUpload,
		loci.UploadAttachment{MemoryID: m, FileName: "a", Size: 1, MIMEType: "text/plain"}, loci.CodeStateConflict)
	testenv.Len(t, attachmentsOf(t, w, m), loci.MaxAttachments, "attachments")
}

func TestArchivedMemoriesTakeNoFiles(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	atlas := w.Atlas(t, "Shelf")
	m := w.Memory(t, atlas, "with a file")
	kept, pending := attach(t, w, m, "kept"), announce(t, w, CallerOwner, m, "late").Attachment
	testenv.NoError(t, put(w, pending, "late"))
	refused := func() {
		t.Helper()
		MustFail(t, w, CallerOwner, service.AttachmentConfirm, loci.GetAttachment{AttachmentID: pending.ID},
			loci.CodeStateConflict)
		MustFail(t, w, CallerOwner, service.AttachmentUpload,
			loci.UploadAttachment{MemoryID: m, FileName: "a", Size: 1, MIMEType: "text/plain"}, loci.CodeStateConflict)
		if _, _, err := w.Service.OpenDownload(t.Context(), kept.ID); err != nil {
			t.Error(err)
		}
	}
	archived := true
	MustCall(t, w, CallerOwner, service.MemoryArchive, loci.ArchiveMemory{MemoryID: m})
	refused()
	MustCall(t, w, CallerOwner, service.MemoryRestore, loci.RestoreMemory{MemoryID: m})
	MustCall(t, w, CallerOwner, service.AtlasArchive, loci.ArchiveAtlas{AtlasID: atlas, Archived: &archived})
	refused()
	out := MustCall(t, w, CallerOwner, service.AttachmentDelete,
		loci.DeleteAttachments{AttachmentIDs: loci.BulkIDs{kept.ID}}) // what takes away is allowed
	if !out.Results[0].OK {
		t.Errorf("%v", out.Results)
	}
}

func TestStorageQuotaReservesAnnouncedBytes(t *testing.T) {
	t.Parallel()
	plan := identity.DefaultPlans[loci.PlanSelfHosted]
	plan.Storage = 10_000
	Each(t, Options{Plan: plan}, func(t *testing.T, w *World) {
		m := w.Memory(t, w.Atlas(t, "Shelf"), "with files")
		up := func(size int64) loci.UploadAttachment {
			return loci.UploadAttachment{MemoryID: m, FileName: "a", Size: loci.FileSize(size), MIMEType: "text/plain"}
		}
		left := plan.Storage - usedBytes(t, w)
		a := MustCall(t, w, CallerOwner, service.AttachmentUpload, up(left)).Attachment
		if e := MustFail(t, w, CallerOwner, service.AttachmentUpload, up(1),
			loci.CodeQuotaExceeded); e.RetryAfter == 0 {
			t.Errorf("%+v", e)
		}
		MustFail(t, w, CallerOwner, service.MemoryCreate, loci.CreateMemory{Content: "x"}, loci.CodeQuotaExceeded)
		MustCall(t, w, CallerOwner, service.AttachmentUpload, up(0))
		testenv.NoError(t, put(w, a, strings.Repeat("x", int(left))))
		// The plan shrinks before the confirmation.
		less := plan
		less.Storage = 5_000
		w.Store.SetPlans(storetest.OnePlan(less))
		MustFail(t, w, CallerOwner, service.AttachmentConfirm, loci.GetAttachment{AttachmentID: a.ID},
			loci.CodeStateConflict)
		w.Store.SetPlans(storetest.OnePlan(plan))
		MustFail(t, w, CallerOwner, service.AttachmentConfirm, loci.GetAttachment{AttachmentID: a.ID},
			loci.CodeNotFound)
		MustCall(t, w, CallerOwner, service.AttachmentUpload,
			up(left)) // the reservation has ended
		w.Clock.Advance(loci.UploadLifetime + time.Second)
		MustCall(t, w, CallerOwner, service.AttachmentUpload,
			up(left)) // and ends with its time
	})
}

func TestFilesAreUnavailableWithoutBucket(t *testing.T) {
	t.Parallel()
	bucket := newFolder(t)
	w := New(t, OpenSQLite, Options{Bucket: bucket})
	w.Store.Jobs().Start(t.Context())
	m := w.Memory(t, w.Atlas(t, "Shelf"), "with files")
	kept := attach(t, w, m, "kept")
	a := announce(t, w, CallerOwner, m, "hello").Attachment
	for _, c := range []struct {
		err  error
		code loci.Code
	}{{errors.New("connection refused"), loci.CodeUnavailable}, {blob.ErrFull, loci.CodeStorageFull}} {
		bucket.fail(c.err)
		if err := put(w, a, "hello"); !loci.Is(err, c.code) || loci.AsError(err).RetryAfter == 0 {
			t.Errorf("upload: %v", err)
		}
		if e := MustFail(t, w, CallerOwner, service.AttachmentConfirm, loci.GetAttachment{AttachmentID: a.ID},
			c.code); e.RetryAfter == 0 || strings.Contains(e.Message, "refused") {
			t.Errorf("%+v", e)
		}
		if _, _, err := w.Service.OpenDownload(t.Context(), kept.ID); !loci.Is(err, c.code) {
			t.Errorf("download: %v", err)
		}
		w.Memory(t, w.Atlas(t, "Shelf"), "written meanwhile")
	}
	MustCall(t, w, CallerOwner, service.AttachmentDelete,
		loci.DeleteAttachments{AttachmentIDs: loci.BulkIDs{kept.ID}})
	waittest.Until(t, func() bool {
		bucket.mu.Lock()
		defer bucket.mu.Unlock()
		return bucket.spared > 0
	})
	testenv.Len(t, objects(t, bucket), 1, "objects")
	bucket.fail(nil)
	w.Clock.Advance(2 * time.Minute)
	waitForObjects(t, bucket)
	testenv.NoError(t, put(w, a, "hello"))
	confirm(t, w, a.ID)
}

// Every way in which a memory is deleted deletes the objects of its files.
func TestObjectsAreDeletedWithTheirMemories(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		bucket := startWithFolder(t, w)
		atlas := w.Atlas(t, "Shelf")
		kept := attach(t, w, w.Memory(t, w.Atlas(t, "Other"), "kept"), "kept").ID
		m := w.Memory(t, atlas, "one")
		attach(t, w, m, "active")
		pending := announce(t, w, CallerOwner, m, "pending").Attachment
		testenv.NoError(t, put(w, pending, "pending"))
		MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: m})
		waitForObjects(t, bucket, kept)
		Expect(t, "an upload for a deleted memory", put(w, pending, "pending"), loci.CodeNotFound)

		gone := attach(t, w, w.Memory(t, atlas, "two"), "of the atlas").ID
		counts := MustCall(t, w, CallerOwner, service.AtlasDelete, loci.DeleteAtlas{AtlasID: atlas, DryRun: true})
		testenv.Equal(t, *counts.Attachments, 1, "a dry run counts", "attachments")
		MustCall(t, w, CallerOwner, service.AtlasDelete, loci.DeleteAtlas{AtlasID: atlas})
		if _, _, err := w.Service.OpenDownload(t.Context(), gone); !loci.Is(err, loci.CodeNotFound) {
			t.Errorf("a download from a deleted atlas: %v", err)
		}
		testenv.Equal(t, usedBytes(t, w), int64(len("kept")+len("kept")), "bytes are counted")
		waitForObjects(t, bucket, kept)
	})
}

// A secret of files is replaced in time. Addresses and tokens of the former one stay valid, and the new one signs only
// when every server knows it.
func TestSecretsOfFilesAreReplaced(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		rotate := func() []store.FileSecret {
			return testenv.Must(store.System(t.Context(), w.Store, "test",
				func(x *store.SystemTx) ([]store.FileSecret, error) {
					return x.RotateFileSecrets(file.SecretAge)
				}))(t)
		}
		token := w.FileToken(w.Ann)
		first := rotate()
		if again := rotate(); len(first) != 1 || string(again[0].Secret) != string(first[0].Secret) {
			t.Fatalf("%d and %d secrets", len(first), len(again))
		}
		w.Clock.Advance(file.SecretAge + time.Second)
		second := rotate()
		if len(second) != 2 || string(second[1].Secret) != string(first[0].Secret) ||
			string(second[0].Secret) == string(first[0].Secret) {
			t.Fatalf("%d secrets", len(second))
		}
		now := second[0].CreatedAt
		testenv.Equal(t, file.Signer(second, now+loci.Time((9*time.Minute).Microseconds())), 1,
			"the new secret signs before other servers know it")
		testenv.Equal(t, file.Signer(second, now+loci.Time((10*time.Minute).Microseconds())), 0,
			"the new secret does not sign")
		w.Clock.Advance(-file.SecretAge)
		if _, err := w.Service.VerifyFileToken(t.Context(), token); err != nil {
			t.Errorf("a token of the former secret: %v", err)
		}
	})
}

// An upload that runs ends soon after its attachment is deleted: its bytes count in no plan any more.
func TestRunningUploadEndsWithDeletion(t *testing.T) {
	t.Parallel()
	bucket := newFolder(t)
	w := New(t, OpenSQLite, Options{Bucket: bucket})
	a := announce(t, w, CallerOwner, w.Memory(t, w.Atlas(t, "Shelf"), "with a file"), "hello").Attachment
	body, client := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- w.Service.StoreUpload(t.Context(), blob.Address{ID: a.ID, Size: 5, Type: "text/plain"}, body)
	}()
	testenv.Must(client.Write([]byte("he")))(t)
	MustCall(t, w, CallerOwner, service.AttachmentDelete,
		loci.DeleteAttachments{AttachmentIDs: loci.BulkIDs{a.ID}})
	w.Clock.Advance(time.Second) // the next byte is checked
	go client.Write([]byte("l")) // the next byte, of which there are two more
	if err := <-ended; !loci.Is(err, loci.CodeNotFound) {
		t.Errorf("%v", err)
	}
	body.Close()
	testenv.Len(t, objects(t, bucket), 0, "objects")
}
