package service_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/testenv"
)

// A review concerns the text at its time: a later change must not inherit it.
func TestChangeAfterReviewIsNotVerified(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		atlas := w.Atlas(t, "Shelf")
		id := w.Memory(t, atlas, "Deploy on Mondays.")
		seen, past := loci.Evidence("read twice"), loci.Time(1)
		MustCall(t, w, CallerOwner, service.MemoryVerify, loci.VerifyMemory{MemoryID: id, Evidence: &seen})
		shows := func(words string) {
			t.Helper()
			testenv.Contains(t, MustCall(t, w, CallerMember, service.MemoryContext,
				loci.ReadContext{AtlasID: atlas}).Markdown, "Memory "+string(id)+" ("+words+", note)", words)
		}
		shows("verified")
		MustCall(t, w, CallerOwner, service.MemoryAppend,
			loci.AppendMemory{MemoryID: id, Content: "Or whenever you like."})
		shows("not verified")
		if m := w.Get(t, id); m.VerifiedAt == 0 || m.Evidence != "read twice" || m.Reviewed() {
			t.Errorf("the review itself stays: %+v", m)
		}
		MustCall(t, w, CallerOwner, service.MemoryVerify, loci.VerifyMemory{MemoryID: id, ValidUntil: &past})
		shows("verified, expired")
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
