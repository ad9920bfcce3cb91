package file_test

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestConcurrentConfirmationsAnswerAlike(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		m := w.Memory(t, w.Atlas(t, "Shelf"), "with a file")
		a := announce(t, w, CallerOwner, m, "hello").Attachment
		testenv.NoError(t, put(w, a, "hello"))
		before, answers := usedBytes(t, w), make([]loci.Attachment, 32)
		for i, err := range storetest.RunConcurrently(len(answers), func(i int) error {
			out, err := op.Do(t.Context(), w.Host, w.Call(CallerOwner), service.AttachmentConfirm,
				loci.GetAttachment{AttachmentID: a.ID})
			answers[i] = out.Attachment
			return err
		}) {
			if err != nil || answers[i] != answers[0] {
				t.Errorf("%+v, %v, and the first %+v", answers[i], err, answers[0])
			}
		}
		if ids := attachmentsOf(t, w, m); len(ids) != 1 || usedBytes(t, w)-before != 5 {
			t.Errorf("%v, %d bytes", ids, usedBytes(t, w)-before)
		}
	})
}

func TestConfirmationLooksAgainWhenUploadIsRecordedMeanwhile(t *testing.T) {
	t.Parallel()
	bucket := newFolder(t)
	w := New(t, OpenSQLite, Options{Bucket: bucket})
	m := w.Memory(t, w.Atlas(t, "Shelf"), "with a file")
	a := announce(t, w, CallerOwner, m, "hello").Attachment
	bucket.onHead = func() {
		bucket.onHead = func() {} // until the second look
		testenv.NoError(t, put(w, a, "hello"))
	}
	if got := confirm(t, w, a.ID); got.SHA256 != sum("hello") || got.MIMEType != "text/plain; charset=utf-8" {
		t.Errorf("%+v", got)
	}
	if bucket.onHead != nil {
		t.Error("the confirmation looked at the bucket once")
	}
}

// Of confirmation and deletion either may come first. In the end nothing is left.
func TestConfirmationRacesWithDeletion(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		bucket := startWithFolder(t, w)
		before := usedBytes(t, w)
		for i := range 12 {
			atlas := w.Atlas(t, "Shelf")
			m := w.Memory(t, atlas, "with a file")
			a := announce(t, w, CallerOwner, m, "hello").Attachment
			testenv.NoError(t, put(w, a, "hello"))
			errs := storetest.RunConcurrently(2, func(side int) (err error) {
				switch {
				case side == 0:
					err = Try(t, w, CallerOwner, service.AttachmentConfirm,
						loci.GetAttachment{AttachmentID: a.ID})
				case i%3 == 0:
					err = Try(t, w, CallerOwner, service.AttachmentDelete,
						loci.DeleteAttachments{AttachmentIDs: loci.BulkIDs{a.ID}})
				case i%3 == 1:
					err = Try(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: m})
				default:
					err = Try(t, w, CallerOwner, service.AtlasDelete, loci.DeleteAtlas{AtlasID: atlas})
				}
				return err
			})
			if c := errs[0]; c != nil && !loci.Is(c, loci.CodeNotFound) || errs[1] != nil {
				t.Errorf("%d: %v", i, errs)
			}
			if i%3 == 0 {
				testenv.Len(t, attachmentsOf(t, w, m), 0, "the memory shows")
				MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: m})
			}
		}
		waitForObjects(t, bucket)
		testenv.Equal(t, usedBytes(t, w), before, "bytes are counted, and before")
	})
}

// An upload that ends after the deletion of its memory leaves no object.
func TestUploadRacesWithDeletionOfAtlas(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		bucket := startWithFolder(t, w)
		for range 8 {
			atlas := w.Atlas(t, "Shelf")
			a := announce(t, w, CallerOwner, w.Memory(t, atlas, "with a file"), "hello").Attachment
			errs := storetest.RunConcurrently(2, func(side int) error {
				if side == 0 {
					return put(w, a, "hello")
				}
				return Try(t, w, CallerOwner, service.AtlasDelete, loci.DeleteAtlas{AtlasID: atlas})
			})
			if put := errs[0]; put != nil && !loci.Is(put, loci.CodeNotFound) || errs[1] != nil {
				t.Errorf("%v", errs)
			}
		}
		waitForObjects(t, bucket)
	})
}

func TestConcurrentUploadsShareTheLastBytesOfAPlan(t *testing.T) {
	t.Parallel()
	plan := identity.DefaultPlans[loci.PlanSelfHosted]
	plan.Storage = 10_240
	Each(t, Options{Plan: plan}, func(t *testing.T, w *World) {
		m := w.Memory(t, w.Atlas(t, "Shelf"), "with files")
		size := (plan.Storage - usedBytes(t, w)) / 4
		SucceedAtOnce(t, 16, 4, loci.CodeQuotaExceeded, func(i int) error {
			return Try(t, w, CallerOwner, service.AttachmentUpload, loci.UploadAttachment{MemoryID: m,
				MIMEType: "text/plain", FileName: loci.FileName(fmt.Sprint(i)), Size: loci.FileSize(size)})
		})
	})
}

func TestConcurrentUploadsStoreOneObject(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	a := announce(t, w, CallerOwner, w.Memory(t, w.Atlas(t, "Shelf"), "with a file"), "hello").Attachment
	SucceedAtOnce(t, 16, 1, loci.CodeStateConflict, func(int) error { return put(w, a, "hello") })
}
