package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/testenv"
)

// A review concerns the content at its time: each way to change the content ends it, and no other change does. How long
// the memory is valid was no part of the review.
func TestReviewEndsWithItsContent(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		atlas := w.Atlas(t, "Shelf")
		seen, sure := loci.Evidence("read twice"), loci.Confidence(.5)
		until := loci.TimeOf(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
		first, other := loci.Content("Deploy on Mondays."), loci.Content("Deploy on Fridays.")
		source := loci.Source{Name: "wiki", URI: "page"}
		update := func(in loci.UpdateMemory) func(loci.ID) {
			return func(id loci.ID) {
				in.MemoryID = id
				MustCall(t, w, CallerOwner, service.MemoryUpdate, in)
			}
		}
		verify := func(id loci.ID) loci.Memory {
			return MustCall(t, w, CallerOwner, service.MemoryVerify, loci.VerifyMemory{MemoryID: id, Evidence: &seen,
				Confidence: &sure, ValidUntil: &until}).Memory
		}
		for name, c := range map[string]struct {
			change func(loci.ID)
			ends   bool
		}{
			"content": {update(loci.UpdateMemory{Content: &other}), true},
			"append": {func(id loci.ID) {
				MustCall(t, w, CallerOwner, service.MemoryAppend, loci.AppendMemory{MemoryID: id, Content: other})
			}, true},
			"revert": {func(id loci.ID) {
				update(loci.UpdateMemory{Content: &other})(id)
				verify(id)
				MustCall(t, w, CallerOwner, service.MemoryRevert, loci.RevertMemory{MemoryID: id, Version: 1})
			}, true},
			"source": {func(loci.ID) {
				MustCall(t, w, CallerOwner, service.MemoryCreate, loci.CreateMemory{AtlasID: atlas, Content: other,
					Source: &source, OnDuplicate: loci.OnDuplicateVersion})
			}, true},
			"title":        {update(loci.UpdateMemory{Title: new(loci.OptionalTitle)}), false},
			"type":         {update(loci.UpdateMemory{Type: loci.TypeFact}), false},
			"tags":         {update(loci.UpdateMemory{Tags: &loci.Tags{"a"}}), false},
			"same content": {update(loci.UpdateMemory{Content: &first, Tags: &loci.Tags{"b"}}), false},
			"revert to the same content": {func(id loci.ID) {
				MustCall(t, w, CallerOwner, service.MemoryRevert, loci.RevertMemory{MemoryID: id, Version: 1})
			}, false},
			"archive and restore": {func(id loci.ID) {
				MustCall(t, w, CallerOwner, service.MemoryArchive, loci.ArchiveMemory{MemoryID: id})
				MustCall(t, w, CallerOwner, service.MemoryRestore, loci.RestoreMemory{MemoryID: id})
			}, false},
		} {
			id := MustCall(t, w, CallerOwner, service.MemoryCreate, loci.CreateMemory{AtlasID: atlas, Content: first,
				Title: "Deploying", Source: &source}).Memory.ID
			was := verify(id)
			c.change(id)
			m := w.Get(t, id)
			hasReview := m.VerifiedAt != 0 || m.VerifiedBy != "" || m.Evidence != "" || m.Confidence != nil
			if hasReview == c.ends || m.ValidUntil != until {
				t.Errorf("%s: %+v", name, m)
			}
			v := MustCall(t, w, CallerMember, service.MemoryVersions, loci.ListVersions{MemoryID: id}).Versions
			if i := len(v) - was.Version; v[i].VerifiedAt != was.VerifiedAt || v[i].Evidence != string(seen) ||
				*v[i].Confidence != sure {
				t.Errorf("%s: the version that was reviewed is %+v", name, v[i])
			}
			words := "(verified, "
			if c.ends {
				words = "(not verified, "
			}
			testenv.Contains(t, MustCall(t, w, CallerMember, service.MemoryContext,
				loci.ReadContext{AtlasID: atlas}).Markdown, "Memory "+string(id)+" "+words, name)
			MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: id})
		}
		if sum, err := integrity.New(w.Store).Sample(t.Context(), 100); err != nil || sum.Found != 0 {
			t.Errorf("%+v %v", sum, err)
		}
	})
}

// SQLite does not store the sign of -0.0.
func TestVerifyWithNegativeZeroKeepsMemoryConsistent(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		id := w.Memory(t, w.Atlas(t, "Shelf"), "Deploy on Mondays.")
		for _, zero := range []string{"-0.0", "-0", "-1e-400"} {
			testenv.Must(w.Host.Call(t.Context(), service.MemoryVerify.Op, w.Call(CallerOwner),
				op.Args{JSON: []byte(`{"memoryId":"` + string(id) + `","confidence":` + zero + `}`)}))(t)
			if sum, err := integrity.New(w.Store).Sample(t.Context(), 10); err != nil || sum.Found != 0 {
				t.Errorf("%s: %+v %v", zero, sum, err)
			}
		}
	})
}

func TestTagsAndSourcesRejectCredentials(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	atlas := w.Atlas(t, "Shelf")
	leak := "ghp_" + strings.Repeat("aB3dE5gH7", 4)
	for name, in := range map[string]loci.CreateMemory{
		"a tag":          {Tags: loci.Tags{"sea", loci.Tag(leak)}},
		"a source":       {Source: &loci.Source{URI: loci.SourceText("https://example.org/?token=" + leak)}},
		"a tag, redact":  {Tags: loci.Tags{loci.Tag(leak)}, Secrets: loci.OnSecretRedact},
		"a source group": {Source: &loci.Source{Group: loci.SourceText(leak)}},
	} {
		in.AtlasID, in.Content = atlas, loci.Content("Nothing to hide, "+name)
		if e := MustFail(t, w, CallerOwner, service.MemoryCreate, in,
			loci.CodeSecretDetected); strings.Contains(e.Message, leak) || !strings.Contains(e.Message, "github-pat") {
			t.Errorf("%s: %s", name, e.Message)
		}
	}
	id := w.Memory(t, atlas, "Nothing to hide.")
	MustFail(t, w, CallerOwner, service.MemoryUpdate, loci.UpdateMemory{MemoryID: id, Tags: &loci.Tags{loci.Tag(leak)}},
		loci.CodeSecretDetected)
}
